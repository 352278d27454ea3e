"""By which names a service is reached. Pure.

A page of another site can have a browser ask 127.0.0.1 by a name of its own that it has point there (DNS
rebinding), and reads the answer. That name shows in `Host`.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class HostNames:
    """The names of a service."""

    hosts: frozenset[str]
    """HostNames and addresses, in small letters, without ports."""

    def refusal(self, header: str) -> str:
        """Return why a request with this `Host` is refused, in a sentence; empty: it is not."""
        host = host_of(header)
        if host not in self.hosts:
            known = ", ".join(sorted(self.hosts))
            return f"This service is not called {host[:100]!r}, but {known}."
        return ""


def host_of(header: str) -> str:
    """Return the name of a `Host` header (RFC 9110 section 7.2), in small letters, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.rpartition(":")[0].lower() if ":" in header else header.lower()


def is_loopback(address: str) -> bool:
    """Return whether nobody but this machine's own programs reaches an address."""
    if address.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
