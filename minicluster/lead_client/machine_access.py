"""How machines that are no pods get the certificate of a MiniCluster from its lead's API."""

from __future__ import annotations

import hashlib
import ssl
from dataclasses import dataclass, field

from minicluster.lead_server.machine_tokens import MachineToken, ends_at, machine_token


@dataclass(frozen=True, slots=True)
class MachineAccess:
    """By what machines know the API of a lead, and it knows them."""

    name: str
    """By which its TLS shows the lead's own certificate."""
    fingerprint: str
    """The SHA-256 of that certificate in DER, in hex."""
    key: str = field(repr=False)
    """The lead's token for bursts, of which the tokens of machines are made."""

    def token(self, label: str, number: int, until: float) -> str:
        """Return the token of a burst's machine, which is good once, until a time in seconds since 1970."""
        return machine_token(self.key, MachineToken(label, number, ends_at(until)))


def fingerprint(certificate: str) -> str:
    """Return the fingerprint of the first certificate in a PEM text. Raises ValueError."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()
