"""The NUMA domains of a node: which of its cores are near to the same memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.errors import InvalidDomains
from queue_policies.nodes.slots import ids

if TYPE_CHECKING:
    from collections.abc import Iterable

    from queue_policies.nodes.records import ClusterNode


def domains_of(node: ClusterNode) -> tuple[int, ...]:
    """Return the bits of the cores of each domain of a node; one domain of all where none is known."""
    return node.domains or (node.cores,)


def checked_domains(host: str, cores: int, domains: Iterable[int]) -> tuple[int, ...]:
    """Return the domains of a host's cores, by their lowest core; () where all cores are in one.

    Cores of a domain that the host does not have are passed over, as a broker may use a part of its machine.
    Raises InvalidDomains where domains have a core in common, or miss one.
    """
    found: list[int] = []
    covered = 0
    for domain in domains:
        inside = domain & cores
        if twice := inside & covered:
            raise InvalidDomains(f"the NUMA domains of {host} overlap: {_named(twice)} in two of them")
        covered |= inside
        if inside:
            found.append(inside)
    if not found:
        return ()
    if missing := cores & ~covered:
        raise InvalidDomains(
            f"the NUMA domains of {host} miss {_named(missing)}: each core is in one of them"
        )
    return tuple(sorted(found, key=lambda bits: bits & -bits)) if len(found) > 1 else ()


def parts_of(bits: int, domains: Iterable[int]) -> list[int]:
    """Return what of these cores is in each domain, without empty parts."""
    return [part for domain in domains if (part := bits & domain)]


def lowest(bits: int, count: int) -> int:
    """Return the lowest `count` of these cores, or all if there are fewer."""
    rest = bits
    for _ in range(count):
        rest &= rest - 1
    return bits ^ rest


def _named(bits: int) -> str:
    numbers = ", ".join(map(str, ids(bits)))
    return f"core {numbers}" if bits.bit_count() == 1 else f"cores {numbers}"
