"""Whom a proxy speaks for: `X-Forwarded-For`, believed only of proxies that were named. Pure."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ProxyNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


def networks(texts: Sequence[str]) -> tuple[ProxyNetwork, ...]:
    """Return the networks of texts such as 10.0.0.7 or 10.0.0.0/8. Raises ValueError."""
    return tuple(ipaddress.ip_network(each, strict=False) for each in texts)


def client_of(peer: str, forwarded: str, trusted: Sequence[ProxyNetwork]) -> str:
    """Return the address of the client behind a connection's peer.

    Each proxy appends the peer that it has. So the list is read from its end, as long as those who wrote it
    are trusted; what is before that, anybody may have written.
    """
    found = peer
    for text in reversed(forwarded.split(",")):
        if not _is_in(found, trusted):
            break
        address = _address(text.strip())
        if not address:
            break
        found = address
    return found


def _is_in(address: str, trusted: Sequence[ProxyNetwork]) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in each for each in trusted)


def _address(text: str) -> str:
    """Return an address as such; empty: the text has none. Some proxies write a port behind it."""
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    bare = bare.partition(":")[0] if bare.count(":") == 1 else bare
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return ""
