"""What the service asks of an instance beyond single requests, in the form in which it needs it."""

from __future__ import annotations

import errno
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_config.formats.errors import SignedJobspecError
from broker_config.formats.jobspec import redacted
from minicluster.instance.errors import JobNotFound, RequestRefused
from minicluster.instance.records import JobFilter, JobState
from restful.clusters.projection import seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from minicluster.instance.port import Instance
    from minicluster.instance.records import BurstSummary, Job, JobChange

INFEASIBLE = (errno.EINVAL, errno.EOVERFLOW, errno.ENODEV)
"""How schedulers refuse what is not feasible; with ENOSYS they do not offer the check."""
STARTED = "broker.starttime"
"""The broker's attribute."""
LARGEST_ID = 2**63 - 1
"""Of a job, as RFC 19 has it."""
CLOCK_SKEW = 300.0
"""Seconds by which the clocks of the service and of the instance may differ."""


@dataclass(frozen=True, slots=True)
class DatedChange:
    """One change of a job."""

    job: Job | None
    """As it is since; None: the history is over, what follows is new."""
    at: float
    """When it happened, by the instance's clock; 0.0 at the end of the history."""


class Changes:
    """The changes of all jobs since a time; `close` ends it from any thread."""

    def __init__(self, instance: Instance, since: float) -> None:
        self._stream = instance.overview.changes(since)

    def __iter__(self) -> Iterator[DatedChange]:
        for change in self._stream:
            if change.job is None or 0 <= change.job.id <= LARGEST_ID:
                yield DatedChange(change.job, _time_of(change))

    def close(self) -> None:
        """End it."""
        self._stream.close()


def _time_of(change: JobChange) -> float:
    job = change.job
    times = [event.timestamp for event in change.events]
    if not times and job is not None:
        times = [job.t_submit, job.t_run, job.t_cleanup, job.t_inactive]
    return max(map(seconds, times), default=0.0)


def attributes(instance: Instance, ids: Collection[int]) -> Mapping[int, Mapping[str, Any]]:
    """Return `attributes.user` of jobs; those that the instance does not know are left out."""
    return instance.overview.attributes(ids)


def submitted_since(instance: Instance, since: float) -> list[Job]:
    """Return the jobs submitted since a time by the service's clock, ended ones too; oldest first."""
    found = instance.jobs.find(JobFilter(submitted=(max(0.0, since - CLOCK_SKEW), math.inf)), limit=0)
    return sorted(found, key=lambda job: job.id)


def jobspec(instance: Instance, jobid: int) -> Mapping[str, Any]:
    """Return a job's jobspec as it was submitted; empty where the instance has none. Raises InstanceGone."""
    try:
        found = instance.jobs.jobspec(jobid)
    except (JobNotFound, RequestRefused, SignedJobspecError):
        return {}
    return found if isinstance(found, dict) else {}


def why(instance: Instance, jobid: int, bursts: Callable[[], Sequence[BurstSummary]] = tuple) -> str:
    """Return why a job waits, in a sentence; empty: it does not. Raises JobNotFound."""
    return instance.overview.why(jobid, bursts)


def unsatisfiable(instance: Instance, jobspec: Mapping[str, Any]) -> str:
    """Return why the instance could never run a job; empty: it could, or that is not known."""
    try:
        instance.links.rpc("feasibility.check", {"jobspec": redacted(dict(jobspec))})
    except RequestRefused as refusal:
        return refusal.text if refusal.errnum in INFEASIBLE else ""
    return ""


def started(instance: Instance) -> str:
    """Return when the broker started, as it has it: another value is another start.

    It is one of the few attributes that a token for jobs is good for.
    """
    try:
        return str(instance.links.rpc("attr.get", {"name": STARTED})["value"])
    except RequestRefused:
        return ""


def cores_per_node(instance: Instance) -> int:
    """Return the cores of a node, on average; 1 where there are none."""
    everything = instance.nodes.resources().all
    return max(1, everything.cores // max(1, everything.nodes))


def states(instance: Instance, ids: set[int]) -> tuple[set[int], list[Job]]:
    """Return which of these jobs the instance knows, and those of them that have ended."""
    present = {job.id for job in instance.jobs.find(JobFilter(states=JobState.ACTIVE), limit=0)}
    ended: list[Job] = []
    for jobid in ids - present:
        try:
            ended.append(instance.jobs.get(jobid))
        except JobNotFound:
            continue
    return {*(present & set(ids)), *(job.id for job in ended)}, ended
