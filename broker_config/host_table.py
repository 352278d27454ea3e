"""The hosts of a broker.toml, compared: a broker joins a lead that has the same ones, in the same order."""

from __future__ import annotations

import hashlib

from broker_config import own_toml
from broker_config.errors import BrokerTomlError


def digest(text: str) -> str:
    """Return the SHA-256, in hexadecimal, of the host names of a broker.toml in the order of their ranks.

    Addresses are not in it: the lead broker has another one for those who join from elsewhere. Raises
    BrokerTomlError for a text that no broker could start from.
    """
    known = own_toml.own(text)
    if not known.is_whole:
        raise BrokerTomlError("broker.toml: there is no table [bootstrap] in it, which lists the hosts")
    found = hashlib.sha256()
    for each in known.hosts:
        for name in each.names():
            found.update(f"{name}\n".encode())
    return found.hexdigest()
