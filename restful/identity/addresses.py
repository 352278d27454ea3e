"""Addresses of clients, as attempts are counted by them. No I/O."""

from __future__ import annotations

import ipaddress


def counted_as(address: str) -> str:
    """Return what an address is counted as: of IPv6 its /64, as one host has all of that; else itself."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:45]
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
