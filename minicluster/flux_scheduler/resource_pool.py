"""What the base class of schedulers takes for its pool: it follows ranks, and says what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flux.resource.ResourcePool import ResourcePool

from minicluster.flux_scheduler.ranks import Ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_config.formats.resource_set import Allocation, R


class _Kind:
    """What the base class asks of the pool's own kind."""

    name = "minicluster"
    known_options: frozenset[str] = frozenset()


class RanksPool(ResourcePool):  # type: ignore[misc] # the base is untyped
    """Ranks, and a function that tells what of them is given out; placing jobs is not its work."""

    def __init__(self, resources: R, log: object = None, **_options: object) -> None:
        self.impl = _Kind()
        self.version = 1
        self.log = log
        self.ranks = Ranks(resources)
        self.allocated: Callable[[], Allocation] = dict
        self._expiration = float(resources["execution"].get("expiration", 0.0))

    @property
    def expiration(self) -> float:
        """When these resources are no longer ours; 0: never."""
        return self._expiration

    @expiration.setter
    def expiration(self, value: float) -> None:
        self._expiration = value

    def mark_up(self, ids: str) -> None:
        """Ranks of which jobs can have something."""
        self.ranks.up |= self.ranks.named(ids)

    def mark_down(self, ids: str) -> None:
        """Ranks that are down, or drained."""
        self.ranks.up -= self.ranks.named(ids)

    def remove_ranks(self, ranks: Iterable[int]) -> None:
        """Ranks that leave for good."""
        self.ranks.remove(ranks)

    def to_dict(self) -> R:
        """All of it as R."""
        return self.ranks.encode(expiration=self._expiration)

    def copy_allocated(self) -> Shown:
        """What is given out."""
        return Shown(self.ranks.encode(self.allocated(), expiration=self._expiration))

    def copy_down(self) -> Shown:
        """What is down or drained."""
        down = self.ranks.whole(self.ranks.nodes.keys() - self.ranks.up)
        return Shown(self.ranks.encode(down, expiration=self._expiration))

    def dumps(self) -> str:
        """For the log."""
        nodes = self.ranks.nodes.values()
        return f"{len(nodes)} nodes with {sum(node.cores.bit_count() for node in nodes)} cores"


class Shown:
    """Resources of which the base class wants nothing but the R."""

    def __init__(self, resources: R) -> None:
        self._resources = resources

    def to_dict(self) -> Any:
        """As R."""
        return self._resources
