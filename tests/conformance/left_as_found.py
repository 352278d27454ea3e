"""Leaves an instance as a test has found it, by the port: four commands would take long each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.instance.records import JobFilter, JobState
from tests.devcluster import until

if TYPE_CHECKING:
    from minicluster.instance.port import Instance

ACTIVE = JobFilter(states=JobState.ACTIVE)
SECONDS = 20.0


def leave_as_found(instance: Instance) -> None:
    """Leave no active job, no drained node and no stopped queue."""
    instance.jobs.cancel_all()
    for drain in instance.nodes.resources().drains:
        instance.nodes.undrain(drain.ranks)
    instance.queues.start()
    until(lambda: not instance.jobs.find(ACTIVE, limit=1), "the end of the jobs", SECONDS)
