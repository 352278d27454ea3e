"""The slots of NUMA domains that a placement gives to a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from queue_policies.nodes.domains import lowest

if TYPE_CHECKING:
    from queue_policies.nodes.records import Allocation
    from queue_policies.placement.protocol import PlacementAsk, PlacementView


class FreeDomain(Protocol):
    """The free cores of a domain."""

    @property
    def rank(self) -> int:
        """Its node's."""

    @property
    def free(self) -> int:
        """Bits of core ids."""


class DomainSlots:
    """The slots that a job gets, each within a domain."""

    def __init__(self, ask: PlacementAsk, nodes: PlacementView) -> None:
        self._cores, self._gpus = ask.request.cores, ask.request.gpus
        self._nodes = nodes
        self._taken: dict[int, int] = {}  # bits of cores by rank
        self._slots: dict[int, int] = {}  # by rank

    def room(self, domain: FreeDomain) -> int:
        """Return how many more slots fit into a domain."""
        slots = (domain.free & ~self._taken.get(domain.rank, 0)).bit_count() // self._cores
        if self._gpus:
            gpus = self._nodes.free(domain.rank)[1].bit_count() // self._gpus
            return min(slots, gpus - self._slots.get(domain.rank, 0))
        return slots

    def given(self, domain: FreeDomain) -> int:
        """Return how many slots were given in a domain."""
        return (domain.free & self._taken.get(domain.rank, 0)).bit_count() // self._cores

    def give(self, domain: FreeDomain, slots: int) -> None:
        """Give the job the lowest free cores of a domain for so many slots, which fit."""
        taken = self._taken.get(domain.rank, 0)
        self._taken[domain.rank] = taken | lowest(domain.free & ~taken, slots * self._cores)
        self._slots[domain.rank] = self._slots.get(domain.rank, 0) + slots

    def allocation(self) -> Allocation:
        """Return all that was given, ranks ascending."""
        return {
            rank: (cores, lowest(self._nodes.free(rank)[1], self._slots[rank] * self._gpus))
            for rank, cores in sorted(self._taken.items())
        }
