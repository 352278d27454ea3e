"""The cores, CPUs and NUMA domains of a node, from the XML that Flux has from hwloc.

A core's id in R is its position among the cores of this XML, and a CPU's number is the operating system's (a
PU of hwloc; with hyperthreads a core has several). Both are bits of a number: bit N is set for the id N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from minicluster.flux_scheduler.errors import TopologyInvalid

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNBOUNDED = "0xf...f"
"""Stands before the words of a set that has all CPUs from there on."""
_WORD = 32
"""Bits in a word of such a set, of which the first is the highest."""


class NodeTopology(NamedTuple):
    """What is known of a node. Where it has no NUMA nodes, all cores are one domain."""

    cores: tuple[int, ...]
    """The CPUs of each core, by the core's id."""
    domains: tuple[int, ...]
    """The cores of each domain, by the domain's lowest core; each core is in exactly one."""

    @property
    def all_cores(self) -> int:
        """The bits of all core ids."""
        return (1 << len(self.cores)) - 1


def parse(text: str) -> NodeTopology:
    """Read hwloc's XML, version 1 or 2. Raises TopologyInvalid if it is none."""
    try:
        root = ET.fromstring(text)  # noqa: S314 - from a broker of this instance
    except ET.ParseError as error:
        raise TopologyInvalid(f"hwloc's topology is not XML: {error}") from None
    cores, memories = [], []
    for element in root.iter("object"):
        kind = element.get("type")
        if kind == "Core":
            cores.append(_cpus(element.get("cpuset", "")))
        elif kind == "NUMANode":
            memories.append(_cpus(element.get("cpuset", "")))
    return NodeTopology(tuple(cores), _domains(cores, memories))


def domains_of(topology: NodeTopology, cores: int) -> tuple[int, ...]:
    """Return the domains of a node that has these cores in R; empty: all are one domain.

    So it is too where R has cores that the node has not, as nothing is known of those.
    """
    if cores & ~topology.all_cores:
        return ()
    parts = tuple(part for domain in topology.domains if (part := domain & cores))
    return parts if len(parts) > 1 else ()


def cpus_of(topology: NodeTopology, cores: int) -> int:
    """Return the CPUs of these cores; 0 if the node has not all of them."""
    if cores & ~topology.all_cores:
        return 0
    found = 0
    for number, cpus in enumerate(topology.cores):
        if cores >> number & 1:
            found |= cpus
    return found


def _domains(cores: Iterable[int], memories: Iterable[int]) -> tuple[int, ...]:
    """Return the cores of each domain.

    NUMA nodes may be one within another, as memory of two kinds beside a socket is: the smallest count. What
    no NUMA node has is one more domain.
    """
    numbered = list(enumerate(cores))
    found: list[int] = []
    taken = 0
    for memory in sorted(memories, key=int.bit_count):
        domain = sum(1 << number for number, cpus in numbered if cpus & memory)
        if domain and not domain & taken:
            found.append(domain)
            taken |= domain
    rest = (1 << len(numbered)) - 1 & ~taken
    if rest:
        found.append(rest)
    return tuple(sorted(found, key=lambda bits: bits & -bits))


def _cpus(words: str) -> int:
    """Read a set of CPUs: hexadecimal words with commas between, of which those that are 0 may be empty."""
    parts = words.split(",")
    if parts[0] == _UNBOUNDED:  # one of all CPUs that a machine could have: those that it has count
        parts[0] = hex((1 << _WORD) - 1)
    found = 0
    try:
        for part in parts:
            found = found << _WORD | int(part or "0", 16)
    except ValueError:
        raise TopologyInvalid(f"hwloc's topology has {words!r} for a set of CPUs") from None
    return found
