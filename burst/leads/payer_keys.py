"""The public keys of RESTful APIs whose users pay for their jobs by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from broker_config.formats.jobspec import set_at, user_of
from minicluster.instance import payers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.instance.payers import PayerStatement


class PayerKeys:
    """Verifies whose a job is."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        """Read keys, 64 hexadecimal digits each. Raises ValueError."""
        self._keys = [Ed25519PublicKey.from_public_bytes(bytes.fromhex(each)) for each in keys]

    def verified(self, jobspec: Mapping[str, Any]) -> PayerStatement | None:
        """Return the statement of a job whose signature fits one of the keys; None without any."""
        found = payers.read(user_of(jobspec))
        if found is None:
            return None
        # An instance may have given it the default time limit.
        given = payers.without(jobspec, "duration")
        set_at(given, ("attributes", "system", "duration"), 0)
        signed = [payers.message(found.row, found.user, each) for each in (jobspec, given)]
        fits = any(_fits(key, found.signature, each) for key in self._keys for each in signed)
        return found if fits else None


def _fits(key: Ed25519PublicKey, signature: bytes, signed: bytes) -> bool:
    try:
        key.verify(signature, signed)
    except InvalidSignature:
        return False
    return True
