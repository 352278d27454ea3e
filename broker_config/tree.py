"""How brokers are connected: whose parent is the lead (tbon.topo of flux-broker-attributes(7))."""

from __future__ import annotations

import re

FANOUT = 32
"""How many brokers connect to one by default."""
_KARY = re.compile(r"kary:(\d+)")


def is_flat(topology: str, hosts: int) -> bool:
    """Return whether all of so many brokers connect to the lead itself; no: some may have another parent."""
    found = _KARY.fullmatch(topology or f"kary:{FANOUT}")
    if found is None:
        return False
    fanout = int(found[1])
    return not fanout or hosts <= fanout + 1


def flat(hosts: int) -> str:
    """Return the topology of so many brokers that all connect to the lead."""
    return f"kary:{hosts}"
