"""Cursors: where the next page of a listing begins, bound to the filters of the first. Pure.

A cursor is opaque to clients. It has the last job's time and id, and a code over them and the filters. So one
that was changed, or sent with other filters or by another user, is recognized.
"""

from __future__ import annotations

import base64
import hmac
import struct
from typing import TYPE_CHECKING, NamedTuple

from restful.errors import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Iterable

_PURPOSE = b"minicluster restful: cursor 1"
_CODE_BYTES = 12
_POSITION = struct.Struct(">dq")


class PagePosition(NamedTuple):
    """The last job of a page."""

    t_listed: float
    id: int


class Cursors:
    """Writes and reads cursors, with a key derived from the service's master key."""

    def __init__(self, master: bytes) -> None:
        self._key = hmac.digest(master, _PURPOSE, "sha256")

    def write(self, position: PagePosition, filters: Iterable[str]) -> str:
        """Return the cursor of the page behind a position."""
        packed = _POSITION.pack(*position)
        return base64.urlsafe_b64encode(packed + self._code(packed, filters)).decode().rstrip("=")

    def read(self, text: str, filters: Iterable[str]) -> PagePosition:
        """Return the position. Raises HttpProblem "cursor"."""
        try:
            decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError:
            decoded = b""
        packed, code = decoded[: _POSITION.size], decoded[_POSITION.size :]
        if len(packed) < _POSITION.size or not hmac.compare_digest(code, self._code(packed, filters)):
            raise HttpProblem(
                "cursor", "cursor: take it unchanged from `next`, with the same filters as before"
            )
        return PagePosition(*_POSITION.unpack(packed))

    def _code(self, packed: bytes, filters: Iterable[str]) -> bytes:
        parts = (part.encode() for part in filters)
        framed = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.digest(self._key, packed + framed, "sha256")[:_CODE_BYTES]
