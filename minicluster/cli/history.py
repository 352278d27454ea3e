"""The history of an instance as a workload, to simulate it with another policy or another size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import eventlog, jobspec, resource_set
from minicluster.instance.records import JobState
from queue_policies.simulator.errors import WorkloadError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_config.formats.jobspec import Sizes
    from minicluster.embedded.jobs.dump import DumpedJob
    from minicluster.instance.port import Instance
    from queue_policies.simulator.job import WorkloadJob
    from queue_policies.simulator.workload import Oversized, Workload

NO_DUMP = "needed is the name of a cluster that is up, or a file that `minicluster down NAME --dump` wrote"


@dataclass(frozen=True, slots=True)
class Past:
    """A job that has run."""

    submitted: float
    started: float
    ended: float
    cores: int
    limit: float
    urgency: int
    user: int
    name: str
    elastic: Sizes | None = None
    """The sizes of an elastic job, from its jobspec."""


class RecordedJobs(NamedTuple):
    """What an instance or a dump has of jobs that have run."""

    past: list[Past]
    running: int
    """How many jobs are left out, as they still ran: their run times are not known."""
    cores: int = 0
    """Those of the brokers that are online; 0 for a dump, which does not tell."""


def of_instance(instance: Instance) -> RecordedJobs:
    """Return the jobs that an instance has run."""
    jobs = instance.jobs.find(limit=0)
    past = [
        Past(
            job.t_submit,
            job.t_run,
            job.t_cleanup or job.t_inactive,
            job.ncores,
            job.duration,
            job.urgency,
            job.userid,
            job.name,
            jobspec.sizes_of(instance.jobs.get(job.id).attributes),
        )
        for job in jobs
        if job.t_run and (job.t_cleanup or job.t_inactive) and job.ncores
    ]
    resources = instance.nodes.resources()
    running = sum(job.state is JobState.RUN for job in jobs)
    return RecordedJobs(past, running, resources.all.cores - resources.offline.cores)


def of_dump(path: str) -> RecordedJobs:
    """Return the jobs that have run, from a dump of the embedded instance. Raises WorkloadError."""
    from minicluster.embedded.errors import DumpError
    from minicluster.embedded.jobs.dump import jobs

    if not Path(path).exists():
        raise WorkloadError(f"{path}: {NO_DUMP}")
    try:
        found = list(jobs(Path(path)))
    except DumpError as error:
        raise WorkloadError(f"{error}; {NO_DUMP}") from error
    running = sum({"alloc", "finish"} & {event["name"] for event in job.events} == {"alloc"} for job in found)
    return RecordedJobs([past for job in found if (past := _dumped(job)) is not None], running)


def workload(past: Iterable[Past], total: int, name: str, oversized: Oversized = "refuse") -> Workload:
    """Return the jobs in the order in which they were submitted, on so many cores.

    The run times of an elastic job at other sizes are unknown. They follow Amdahl's law, from an assumed
    efficiency of 0.8.
    """
    from queue_policies.simulator.workload import Workload, fitted

    ordered = sorted(past, key=lambda each: each.submitted)
    if not ordered:
        raise WorkloadError(f"{name}: none of its jobs has run yet")
    if not total:
        raise WorkloadError(f"{name}: a dump does not tell how many cores there were; say so with --size")
    first = ordered[0].submitted
    jobs = (_job(number, each, first, total) for number, each in enumerate(ordered, 1))
    return Workload(name, fitted(jobs, total, oversized), total, "cores")


def _job(number: int, past: Past, first: float, total: int) -> WorkloadJob:
    from queue_policies.simulator.job import WorkloadJob
    from queue_policies.simulator.speedup import Amdahl, Fixed
    from queue_policies.simulator.workloads import swf

    run = max(past.ended - past.started, 0.0)
    limit = max(past.limit, run) if past.limit else float("inf")
    rigid = WorkloadJob(
        number,
        past.submitted - first,
        past.cores,
        past.cores,
        Fixed(run),
        limit,
        past.urgency,
        past.user,
        kind=past.name,
    )
    if past.elastic is None:
        return rigid
    least = min(past.elastic.least, past.cores)
    most = min(max(past.elastic.most, past.cores), total)
    parallel = swf.parallel_fraction(past.cores)
    model = Amdahl(run / (1 - parallel + parallel / past.cores), parallel)
    stretch = model.seconds(least) / run if run else 1.0
    return rigid._replace(min=least, max=most, time=model, limit=limit * max(stretch, 1.0), malleable=True)


def _dumped(job: DumpedJob) -> Past | None:
    """Return a job of a dump; None where it has not run."""
    times: dict[str, float] = {}
    urgency = 16
    for event in job.events:
        times.setdefault(event["name"], event["timestamp"])
        urgency = eventlog.context(event).get("urgency", urgency)
    if job.resources is None or not {"alloc", "finish"} <= set(times):
        return None
    parsed = jobspec.read(job.jobspec)
    return Past(
        times["submit"],
        times["alloc"],
        times["finish"],
        resource_set.read(job.resources).counts[1],
        parsed.duration,
        urgency,
        job.user,
        parsed.name,
        parsed.elastic,
    )
