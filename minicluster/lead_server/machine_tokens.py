"""Tokens by which machines of bursts get the certificate: each is for one machine, and good once.

`LABEL.NUMBER.UNTIL.MARK`, where MARK is an HMAC-SHA256 of what is before it (RFC 2104). Its key is the token
for bursts of this MiniCluster, which the lead has as a file, and a service derives. So the lead verifies them
without being asked to keep any; it notes those that were used. Machines have them in their metadata, where
their jobs can read them: by then they are used.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import math
import os
import re
import threading
from typing import TYPE_CHECKING, NamedTuple

from minicluster.lead_server.errors import BadRequest

if TYPE_CHECKING:
    from pathlib import Path

MAX_USED = 16_384
"""So many tokens may be used in the time that each is good: more than brokers can join by then."""
_FORM = re.compile(r"([a-z0-9]{1,20})\.(\d{1,6})\.(\d{1,12})")
_NONCE = re.compile(r"[0-9a-f]{32,128}")
_PURPOSE = b"minicluster machine certificate\n"


class MachineToken(NamedTuple):
    """What a token says of its machine."""

    label: str
    """Of its burst."""
    number: int
    until: int
    """When it is good no longer, in seconds since 1970."""

    def __str__(self) -> str:
        return f"{self.label}.{self.number}.{self.until}"


def machine_token(key: str, token: MachineToken) -> str:
    """Return the token's text; `key` is the lead's token for bursts."""
    return f"{token}.{_mark(key.encode(), str(token))}"


def ends_at(until: float) -> int:
    """Return an end as tokens have it."""
    return math.ceil(until)


def verified(key: bytes, text: str) -> MachineToken | None:
    """Return a token whose mark was made with this key; None for any other text."""
    given, _, mark = text.rpartition(".")
    found = _FORM.fullmatch(given)
    # Compared in any case, so that the time it takes reveals nothing.
    is_ours = hmac.compare_digest(_mark(key, given).encode(), mark.encode("utf-8", "replace"))
    if not (is_ours and found and key):
        return None
    return MachineToken(found[1], int(found[2]), int(found[3]))


def _mark(key: bytes, text: str) -> str:
    return hmac.new(key, _PURPOSE + text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


class UsedTokens:
    """Those that were used and are not over, in a file of mode 0600: who used one may repeat its request.

    Any thread may use it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._used: dict[MachineToken, str] | None = None

    def use(self, token: MachineToken, nonce: str, now: float) -> bool:
        """Note a token's use; return whether it is good for the client with this nonce.

        It is noted on the disk before this returns. Raises OSError where it cannot be, and BadRequest for
        what is no nonce, or where too many are used.
        """
        if not _NONCE.fullmatch(nonce):
            raise BadRequest("a nonce of 32 to 128 hexadecimal digits is right")
        digest = hashlib.sha256(nonce.encode()).hexdigest()
        with self._lock:
            used = self._read() if self._used is None else self._used
            self._used = used = {each: by for each, by in used.items() if each.until > now}
            if token in used:
                return hmac.compare_digest(used[token], digest)
            if len(used) >= MAX_USED:
                raise BadRequest(f"{MAX_USED} tokens are used already", 503)
            self._write({**used, token: digest})
            self._used[token] = digest
            return True

    def _read(self) -> dict[MachineToken, str]:
        try:
            lines = self._path.read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return {}
        found = {}
        for text, _, digest in (line.partition(" ") for line in lines):
            parts = _FORM.fullmatch(text)
            if parts is None:
                raise OSError(f"{self._path}: it has a line that is none of its own")
            found[MachineToken(parts[1], int(parts[2]), int(parts[3]))] = digest
        return found

    def _write(self, used: dict[MachineToken, str]) -> None:
        fresh = self._path.with_name(f"{self._path.name}.new")
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        descriptor = os.open(str(fresh), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.writelines(f"{token} {digest}\n" for token, digest in used.items())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
