"""The resource pool for the base class of schedulers: it follows ranks and reports resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flux.resource.ResourcePool import ResourcePool

from broker_config.formats.resource_set import times_of
from minicluster.flux_scheduler.ranks import Ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_config.formats.resource_set import Allocation, R


class _Kind:
    """What the base class needs of the pool's implementation."""

    name = "minicluster"
    known_options: frozenset[str] = frozenset()


class RanksPool(ResourcePool):  # type: ignore[misc] # the base is untyped
    """The ranks, and a function `allocated` that returns what jobs hold. It places no jobs."""

    def __init__(self, resources: R, log: object = None, **_options: object) -> None:
        self.impl = _Kind()
        self.version = 1
        self.log = log
        self.ranks = Ranks(resources)
        self.allocated: Callable[[], Allocation] = dict
        self._expiration = times_of(resources).expiration

    @property
    def expiration(self) -> float:
        """The end of these resources, in seconds since 1970; 0: none."""
        return self._expiration

    @expiration.setter
    def expiration(self, value: float) -> None:
        self._expiration = value

    def mark_up(self, ids: str) -> None:
        """Note ranks that are up."""
        self.ranks.up |= self.ranks.named(ids)

    def mark_down(self, ids: str) -> None:
        """Note ranks that are down or drained."""
        self.ranks.up -= self.ranks.named(ids)

    def remove_ranks(self, ranks: Iterable[int]) -> None:
        """Remove ranks for good."""
        self.ranks.remove(ranks)

    def to_dict(self) -> R:
        """Return all resources as R."""
        return self.ranks.encode(expiration=self._expiration)

    def copy_allocated(self) -> Shown:
        """Return what jobs hold."""
        return Shown(self.ranks.encode(self.allocated(), expiration=self._expiration))

    def copy_down(self) -> Shown:
        """Return what is down or drained."""
        down = self.ranks.whole(self.ranks.nodes.keys() - self.ranks.up)
        return Shown(self.ranks.encode(down, expiration=self._expiration))

    def dumps(self) -> str:
        """Return a summary for the log."""
        nodes = self.ranks.nodes.values()
        return f"{len(nodes)} nodes with {sum(node.cores.bit_count() for node in nodes)} cores"


class Shown:
    """Resources from which the base class only takes R."""

    def __init__(self, resources: R) -> None:
        self._resources = resources

    def to_dict(self) -> Any:
        """Return R."""
        return self._resources
