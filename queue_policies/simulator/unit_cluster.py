"""A simulated cluster that only counts units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.counting import CountingCluster, Units

if TYPE_CHECKING:
    from queue_policies.nodes.records import Allocation


class UnitCluster(CountingCluster):
    """A number of units, with what a cluster of nodes tells of jobs as well."""

    def __init__(self, total: int) -> None:
        super().__init__(total)
        self._units = [Units(size) for size in range(total + 1)]

    def request(self, job: int, size: int) -> Units:  # noqa: ARG002 - those of all jobs are alike
        """Return a job's request for so many units."""
        return self._units[size]

    def allocation(self, job: int) -> Allocation:  # noqa: ARG002 - it knows no cores
        """Return no cores."""
        return {}

    def size(self, job: int) -> int:
        """Return how many units a job has."""
        return self.held[job]

    def workers(self, job: int) -> int:  # noqa: ARG002 - the same
        """Return 1: where there are no cores, none are a worker's own."""
        return 1
