"""Who pays for a burstable job of the RESTful API: a statement in the job that a burst service verifies.

All jobs of a shared instance run as one account, so who runs a job there can write anything into another
job. Hence the RESTful API signs (Ed25519, RFC 8032) the name of its user together with the request's row and
the jobspec. Its private key never leaves it; a burst service has the public one, with which it verifies and
cannot sign. A statement is good for that jobspec alone, and for one job at a time of those that wait.

It is at `attributes.user.minicluster.payer`. Dumps, restores and restarts keep it.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats.jobspec import set_at, system_of, user_of

if TYPE_CHECKING:
    from collections.abc import Mapping

OURS = "minicluster"
PAYER = "payer"
_PREFIX = "mcp1"
_PURPOSE = "minicluster: payer of a burst 1"
_SIGNATURE_BYTES = 64


class PayerStatement(NamedTuple):
    """A statement as a job has it; nothing of it is proven."""

    row: str
    """The id of the request's row: of a restart, the same one."""
    user: str
    """The name of the user."""
    signature: bytes

    def __str__(self) -> str:
        return ".".join((_PREFIX, self.row, _encode(self.user.encode()), _encode(self.signature)))


def message(row: str, user: str, jobspec: Mapping[str, Any]) -> bytes:
    """Return what is signed. The job's queue is not part of it, as it is moved."""
    signed = digest(without(jobspec, "queue", "constraints"))
    return json.dumps([_PURPOSE, row, user, signed], separators=(",", ":")).encode()


def without(jobspec: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a jobspec without some of its `attributes.system`, which an instance may have filled in."""
    found = copy.deepcopy(dict(jobspec))
    system = {name: value for name, value in system_of(jobspec).items() if name not in names}
    set_at(found, ("attributes", "system"), system)
    return found


def read(attributes: Any) -> PayerStatement | None:
    """Return the statement in `attributes.user`; None where there is none that could be one."""
    ours = attributes.get(OURS) if isinstance(attributes, dict) else None
    text = ours.get(PAYER) if isinstance(ours, dict) else None
    if not isinstance(text, str) or not text.isascii() or text.count(".") != 3:
        return None
    prefix, row, user, signature = text.split(".")
    try:
        found = PayerStatement(row, _decode(user).decode(), _decode(signature))
    except ValueError:
        return None
    is_whole = prefix == _PREFIX and row and found.user and len(found.signature) == _SIGNATURE_BYTES
    return found if is_whole and str(found) == text else None


def digest(jobspec: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a jobspec's canonical JSON, in hex.

    Left out are `attributes.user.minicluster` and `attributes.system.dependencies`: restarts change both.
    Numbers count by their value: 60 and 60.0 are the same.
    """
    user = {key: value for key, value in user_of(jobspec).items() if key != OURS}
    system = {key: value for key, value in system_of(jobspec).items() if key != "dependencies"}
    parts = [jobspec.get("resources"), jobspec.get("tasks"), system, user]
    text = json.dumps(_plain(parts), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
