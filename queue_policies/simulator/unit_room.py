"""The units that starters hold in a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from queue_policies.orders.book import Starter
    from queue_policies.simulator.node_cluster import NodeCluster
    from queue_policies.simulator.unit_cluster import UnitCluster


class UnitRoom:
    """Implements `orders.book.Room` on a simulated cluster."""

    def __init__(self, cluster: UnitCluster | NodeCluster) -> None:
        self._cluster = cluster

    def hold(self, starter: Starter, units: int) -> None:
        """Reserve the units."""
        self._cluster.hold(starter.queued.id, units)

    def give(self, promised: Mapping[int, int], freed: int) -> None:  # noqa: ARG002 - as on nodes
        """Give starters the units that they were promised."""
        for job, units in promised.items():
            self._cluster.hold(job, self._cluster.size(job) + units)

    def begin_after_shrinks(self, starter: Starter) -> int:
        """Return the size at which the job starts, which is always the whole one."""
        return starter.request.size

    def release(self, job: int) -> None:
        """Release all that the job holds."""
        self._cluster.release(job)
