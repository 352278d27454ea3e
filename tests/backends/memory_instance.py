"""An instance whose jobs have run as soon as they are submitted: as much of one as commands ask of it."""

from __future__ import annotations

import contextlib
import errno
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from minicluster.instance.errors import (
    JobInactive,
    JobNotFound,
    NotResized,
    RequestRefused,
    WaitTimeout,
)
from minicluster.instance.records import (
    Job,
    JobFilter,
    JobRequest,
    JobResult,
    JobState,
    OutputChunk,
    QueueResources,
    QueueStatus,
    Resources,
    ResourceSubset,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minicluster.instance.errors import InstanceError


@dataclass
class MemoryJobs:
    """Jobs by their ids. One whose command is `false` ends with 1, one whose urgency is 0 waits."""

    found: dict[int, Job] = field(default_factory=dict)
    requests: dict[int, JobRequest] = field(default_factory=dict)

    def submit(self, request: JobRequest) -> int:
        """Run a job, unless it is held."""
        number = 1000 + len(self.found)
        self.requests[number] = request
        self._put(number, request.urgency)
        return number

    def _put(self, number: int, urgency: int) -> None:
        """Have a job that has ended, or that waits if its urgency is 0."""
        request = self.requests[number]
        at_rest = urgency == 0
        code = 1 if request.command[0] == "false" else 0
        self.found[number] = Job(
            number,
            JobState.SCHED if at_rest else JobState.INACTIVE,
            None if at_rest else JobResult.FAILED if code else JobResult.COMPLETED,
            name=request.name or request.command[0],
            queue=request.queue,
            ntasks=request.tasks,
            ncores=request.tasks,
            urgency=urgency,
            attributes=request.attributes,
            t_submit=100.0,
            t_run=0.0 if at_rest else 101.0,
            t_inactive=0.0 if at_rest else 105.0,
            waitstatus=None if at_rest else code << 8,
        )

    def unsatisfiable(self, request: JobRequest) -> str:
        """Refuse what needs more than four cores."""
        cores = request.tasks * request.cores_per_task
        return f"unsatisfiable request: {cores} cores" if cores > 4 else ""

    def jobspec(self, jobid: int) -> dict[str, Any]:
        """Return the command of a job."""
        return {"tasks": [{"command": list(self.requests[jobid].command)}]}

    def find(self, which: JobFilter | None = None, limit: int = 1000) -> list[Job]:
        """List jobs."""
        return [each for each in self.found.values() if _fits(each, which or JobFilter())]

    def get(self, jobid: int) -> Job:
        """Return one job."""
        if jobid not in self.found:
            raise JobNotFound(jobid)
        return self.found[jobid]

    def wait(self, jobid: int, timeout: float | None = None) -> Job:
        """Return a job that has ended. Raises WaitTimeout for one that waits."""
        found = self.get(jobid)
        if found.result is None:
            raise WaitTimeout(f"job {jobid} waits")
        return found

    def set_urgency(self, jobid: int, urgency: int) -> int:
        """Run a held job, or keep it; return its urgency before."""
        before = self.get(jobid)
        if before.result is not None:
            raise JobInactive(jobid)
        if before.state in JobState.RUNNING:
            raise RequestRefused("job-manager.urgency", errno.EINVAL, "urgency cannot be changed any more")
        self._put(jobid, urgency)
        return before.urgency

    def cancel(self, jobid: int, reason: str = "") -> None:
        """Take a held job away."""
        del self.found[jobid]

    def cancel_all(self, states: JobState = JobState.ACTIVE, reason: str = "") -> int:
        """Take jobs in some states away."""
        found = [each.id for each in self.found.values() if each.state & states]
        for jobid in found:
            self.cancel(jobid)
        return len(found)

    def resize(self, jobid: int, workers: int, *, wait: bool = True) -> int:
        """Give a running job other tasks, one to four; its program refuses three."""
        job = self.get(jobid)
        if job.result is not None:
            raise JobInactive(jobid)
        if job.state is not JobState.RUN:
            raise NotResized(jobid, "is not running")
        if workers > 4:
            raise NotResized(jobid, f"runs with 1 to 4 workers here, not with {workers}")
        if workers == 3:
            raise NotResized(jobid, "refused: three of us would not do")
        self.found[jobid] = replace(job, ntasks=workers)
        return job.ntasks

    @contextlib.contextmanager
    def output(self, jobid: int, *, follow: bool = False) -> Iterator[list[OutputChunk]]:
        """Return a job's command as its output."""
        text = " ".join(self.requests[jobid].command) + "\n"
        yield [OutputChunk(jobid, 0, 0, "stdout", text.encode())]


def _fits(job: Job, which: JobFilter) -> bool:
    either = (which.states, job.state), (which.results, job.result or JobResult(0))
    exact = (which.userid, job.userid), (which.name or None, job.name), (which.queue or None, job.queue)
    chosen = [bool(wanted & value) for wanted, value in either if wanted is not None]
    return (
        (any(chosen) or not chosen)
        and all(wanted in {None, value} for wanted, value in exact)
        and (job.result is None or job.t_inactive > which.since)
    )


@dataclass
class MemoryBulk:
    """Submits of many jobs."""

    jobs: MemoryJobs

    def submit(self, requests: Sequence[JobRequest]) -> list[int | InstanceError]:
        """Run jobs."""
        return [self.jobs.submit(each) for each in requests]


@dataclass
class MemoryNodes:
    """So many brokers with a core each."""

    size: int = 1

    def resources(self) -> Resources:
        """Return a core a broker, all of them free."""
        ranks = tuple(range(self.size))
        every = ResourceSubset(ranks, tuple(f"m{rank}" for rank in ranks), cores=self.size)
        none = ResourceSubset()
        return Resources(every, every, none, every, none, none, none)

    def by_queue(self) -> QueueResources:
        """Return the same for every queue."""
        return QueueResources(self.resources())


@dataclass
class MemoryQueues:
    """The one queue."""

    jobs: MemoryJobs

    def all(self) -> list[QueueStatus]:
        """Return it."""
        return [QueueStatus("", enabled=True, started=True)]

    def update(self, jobid: int, *, queue: str = "", duration: float | None = None) -> None:
        """Move a held job to a queue, all but `nope`, or set its time limit."""
        job = self.jobs.get(jobid)
        if job.result is not None:
            raise JobInactive(jobid)
        if queue == "nope":
            raise RequestRefused("job-manager.update", errno.EINVAL, "'nope' is not a valid queue")
        limit = job.duration if duration is None else duration
        self.jobs.found[jobid] = replace(job, queue=queue or job.queue, duration=limit)


@dataclass
class MemoryInstance:
    """Jobs, nodes and queues; who follows its jobs looks at `found` and `size`."""

    jobs: MemoryJobs = field(default_factory=MemoryJobs)
    nodes: MemoryNodes = field(default_factory=MemoryNodes)
    engine: str = "flux"
    links: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(inherits_environment=False))

    @property
    def queues(self) -> MemoryQueues:
        """Return the queues."""
        return MemoryQueues(self.jobs)

    @property
    def bulk(self) -> MemoryBulk:
        """Return what submits many jobs."""
        return MemoryBulk(self.jobs)

    @property
    def found(self) -> dict[int, Job]:
        """Return the jobs."""
        return self.jobs.found

    @property
    def size(self) -> int:
        """Return how many brokers there are."""
        return self.nodes.size

    def resize(self, size: int) -> None:
        """Have so many brokers."""
        self.nodes.size = size
