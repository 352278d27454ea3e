"""The owner mark: what in a job's own record names the request that submitted it. Pure.

All jobs of a shared instance run as one account, so who runs a job there can write any mark into another
job. Hence a mark is sealed, as a message authentication code (HMAC-SHA256, RFC 2104) over the instance, the
user, the request's row and the jobspec. A copied mark is good for the same jobspec alone, a row for one job.

The mark is at `attributes.user.minicluster.request`. Dumps, restores and restarts keep it; a restart adds
`restart_of` beside it and changes dependencies, which are therefore not part of the digest.
"""

from __future__ import annotations

import base64
import copy
import hmac
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from broker_config.formats.burst_names import BURSTABLE
from broker_config.formats.jobspec import system_of
from minicluster.instance import payers
from minicluster.instance.payers import OURS, PAYER, digest

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON = dict[str, Any]

MARK = "request"
RESTART_OF = "restart_of"
_PREFIX = "mcr1"
_PURPOSE = b"minicluster restful: owner mark 1"
_PAYERS = b"minicluster restful: payers of bursts 1"


class Mark(NamedTuple):
    """A mark as a job has it; nothing of it is proven."""

    row: str
    """The id of the request's row."""
    code: bytes
    """The message authentication code, 32 bytes."""

    def __str__(self) -> str:
        return f"{_PREFIX}.{self.row}.{base64.urlsafe_b64encode(self.code).decode().rstrip('=')}"


class SealedRequest(NamedTuple):
    """What a mark is sealed over, besides the jobspec."""

    instance: str
    """The id of the instance's line of life: the same after a dump and its restore."""
    user: str
    row: str


class Seal:
    """Makes and checks marks, with a key derived from the service's master key.

    Burstable jobs also get who pays for them, signed with another key that is derived from it.
    """

    def __init__(self, master: bytes) -> None:
        self._key = hmac.digest(master, _PURPOSE, "sha256")
        self._payers = Ed25519PrivateKey.from_private_bytes(hmac.digest(master, _PAYERS, "sha256"))

    @property
    def payer_key(self) -> str:
        """The public key by which a burst service verifies who pays, in hexadecimal digits: no secret."""
        return self._payers.public_key().public_bytes_raw().hex()

    def marked(self, jobspec: Mapping[str, Any], request: SealedRequest, payer: str = "") -> JSON:
        """Return the jobspec with the mark of a request; `payer` is the name of its user."""
        found = copy.deepcopy(dict(jobspec))
        user = found["attributes"].setdefault("user", {})
        ours = user.setdefault(OURS, {})
        ours[MARK] = str(Mark(request.row, self._code(jobspec, request)))
        if payer and system_of(jobspec).get(BURSTABLE):
            signature = self._payers.sign(payers.message(request.row, payer, jobspec))
            ours[PAYER] = str(payers.PayerStatement(request.row, payer, signature))
        return found

    def proves(self, mark: Mark, jobspec: Mapping[str, Any], request: SealedRequest) -> bool:
        """Return whether the mark was made here, for this request and this jobspec.

        An instance may have filled in the queue of a job that had none, with its constraints.
        """
        possible = (jobspec, payers.without(jobspec, "queue", "constraints"))
        return any(hmac.compare_digest(mark.code, self._code(each, request)) for each in possible)

    def _code(self, jobspec: Mapping[str, Any], request: SealedRequest) -> bytes:
        sealed = json.dumps([*request, digest(jobspec)], separators=(",", ":"))
        return hmac.digest(self._key, sealed.encode(), "sha256")


def read(attributes: Any) -> Mark | None:
    """Return the mark in `attributes.user`; None where there is none that could be one."""
    text = _ours(attributes).get(MARK)
    if not isinstance(text, str) or not text.isascii():
        return None
    prefix, _, rest = text.partition(".")
    row, _, code = rest.partition(".")
    try:
        decoded = base64.b64decode(f"{code}=", altchars=b"-_", validate=True)
    except ValueError:
        return None
    made = Mark(row, decoded)
    return made if prefix == _PREFIX and row and len(decoded) == 32 and str(made) == text else None


def restart_of(attributes: Any) -> int | None:
    """Return the former id of a job that was started again, as its attributes have it; not proven."""
    old = _ours(attributes).get(RESTART_OF)
    return old if type(old) is int else None


def _ours(attributes: Any) -> Mapping[str, Any]:
    ours = attributes.get(OURS) if isinstance(attributes, dict) else None
    return ours if isinstance(ours, dict) else {}
