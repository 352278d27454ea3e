"""What starters hold in a simulation: a number of units."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from queue_policies.counting import CountingCluster
    from queue_policies.orders.book import Starter


class UnitRoom:
    """Implements `orders.book.Room` on a cluster that only counts: what is freed are no particular units."""

    def __init__(self, cluster: CountingCluster) -> None:
        self._cluster = cluster

    def hold(self, starter: Starter, units: int) -> None:
        """Hold the units."""
        self._cluster.hold(starter.queued.id, units)

    def give(self, promised: Mapping[int, int], freed: int) -> None:  # noqa: ARG002 - as on nodes
        """Give starters the units that they were promised."""
        for job, units in promised.items():
            self._cluster.hold(job, self._cluster.held[job] + units)

    def begin_after_shrinks(self, starter: Starter) -> int:
        """Return the size at which the job starts: it has all of it."""
        return starter.request.size

    def release(self, job: int) -> None:
        """Take back all that the job holds."""
        self._cluster.release(job)
