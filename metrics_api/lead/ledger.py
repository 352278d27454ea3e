"""The active jobs, from the job journal (RFC 21's events), with pending ones grouped by their requests.

A hundred thousand pending jobs that are alike make one record of a snapshot, so they cost a sample no more.
The journal is the only source: no jobs are listed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import constraints, idset, jobspec, resource_set
from metrics_api import names
from metrics_api.numbers.records import AllocatedJob, Hold, PendingGroup, SlotRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from broker_config.formats.jobspec import Parsed

    JSON = dict[str, Any]

RESIZED = "resource-update"
EVENTS = ("submit", "priority", "alloc", RESIZED, "free", "clean", "invalidate", "jobspec-update")
"""The events that change anything here."""
_FLAGS, _BYPASS = "set-flags", "alloc-bypass"
_UPDATES = "attributes.system."


class Likeness(NamedTuple):
    """What pending jobs of one group have in common."""

    request: SlotRequest
    queue: str
    """`ANONYMOUS_QUEUE` for jobs of no named queue."""
    group: str
    """`attributes.user.group`, else the group of the job's user."""
    hold: str
    """One of `Hold`."""


class Alike:
    """Pending jobs that are alike, ordered by the time since which each could run."""

    __slots__ = ("jobs", "likeness", "work")

    def __init__(self, likeness: Likeness) -> None:
        self.likeness = likeness
        self.jobs: dict[int, float] = {}
        self.work = 0  # thousandths of core-seconds, whole: they add up exactly


class PendingJob:
    """A pending job, small, as there may be many. `work` is its cores times its limit, in thousandths."""

    __slots__ = ("alike", "duration", "work")

    def __init__(self, alike: Alike, duration: float) -> None:
        self.alike = alike
        self.duration = duration
        self.work = round(duration * 1000) * alike.likeness.request.all_cores


class PendingJobs:
    """The jobs without resources, grouped."""

    def __init__(self) -> None:
        self._jobs: dict[int, PendingJob] = {}
        self._alike: dict[Likeness, Alike] = {}

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, jobid: int) -> bool:
        return jobid in self._jobs

    def put(self, jobid: int, likeness: Likeness, duration: float, since: float) -> None:
        """Add a job that could run since a time."""
        alike = self._alike.get(likeness)
        if alike is None:
            alike = self._alike[likeness] = Alike(likeness)
        job = self._jobs[jobid] = PendingJob(alike, duration)
        alike.jobs[jobid] = since
        alike.work += job.work

    def take_out(self, jobid: int) -> Likeness | None:
        """Remove a job; return its likeness, None if it is not pending."""
        job = self._jobs.pop(jobid, None)
        if job is None:
            return None
        alike = job.alike
        del alike.jobs[jobid]
        alike.work -= job.work
        if not alike.jobs:
            del self._alike[alike.likeness]
        return alike.likeness

    def prioritize(self, jobid: int, priority: int, timestamp: float) -> None:
        """Set a job's priority; with 0 it is held."""
        job = self._jobs[jobid]
        hold = Hold.NONE if priority else Hold.HELD
        if job.alike.likeness.hold != hold:
            self._move(jobid, job.alike.likeness._replace(hold=hold), job.duration, timestamp)

    def update(self, jobid: int, context: JSON) -> None:
        """Set attributes of a job that have changed."""
        job = self._jobs[jobid]
        likeness, duration = job.alike.likeness, job.duration
        system = {key[len(_UPDATES) :]: v for key, v in context.items() if key.startswith(_UPDATES)}
        if "duration" in system:
            duration = jobspec.seconds(system["duration"])
        if "queue" in system:
            likeness = likeness._replace(queue=str(system["queue"] or names.ANONYMOUS_QUEUE))
        if "constraints" in system:
            request = likeness.request._replace(constraint=constraints.read(system["constraints"]))
            likeness = likeness._replace(request=request)
        self._move(jobid, likeness, duration, job.alike.jobs[jobid])

    def _move(self, jobid: int, likeness: Likeness, duration: float, since: float) -> None:
        self.take_out(jobid)
        self.put(jobid, likeness, duration, since)

    def sort(self) -> None:
        """Sort the jobs, as those of the history come in any order."""
        for alike in self._alike.values():
            alike.jobs = dict(sorted(alike.jobs.items(), key=lambda item: item[1]))

    def counted(self, stopped: Collection[str]) -> tuple[PendingGroup, ...]:
        """Return the groups; jobs in the `stopped` queues are held."""
        return tuple(_counted(each, stopped) for each in self._alike.values())


class Ledger:
    """The active jobs, by the journal's messages from its beginning on.

    `group_of` returns the group's name of a user id.
    """

    def __init__(self, group_of: Callable[[int], str]) -> None:
        self._group_of = group_of
        self._pending = PendingJobs()
        self._running: dict[int, AllocatedJob] = {}
        self._bypassing: set[int] = set()
        """Jobs that bring resources along (`alloc-bypass`): they take nothing that others could have."""
        self.ready = False
        """Whether the history is over."""
        self.doubts = 0
        """How many messages were about jobs that it should have known."""
        self.changes = 0

    @property
    def pending_jobs(self) -> int:
        """The number of jobs without resources."""
        return len(self._pending)

    @property
    def running_jobs(self) -> int:
        """The number of jobs with resources."""
        return len(self._running)

    def take(self, message: JSON) -> None:
        """Apply a message of the journal about one job; the message with id -1 ends the history."""
        jobid = message["id"]
        if jobid == -1:
            self._history_is_over()
            return
        for event in message["events"]:
            self._event(jobid, event["name"], event, message)

    def _history_is_over(self) -> None:
        self.ready = True
        self._pending.sort()
        self.changes += 1

    def _event(self, jobid: int, name: str, event: JSON, message: JSON) -> None:
        if name == _FLAGS and _BYPASS in event["context"]["flags"]:
            self._forget(jobid)
            self._bypassing.add(jobid)
        if name not in EVENTS or (jobid in self._bypassing and name != "clean"):
            return
        self.changes += 1
        context = event.get("context") or {}
        if name == "submit":
            self._submit(jobid, context, message.get("jobspec"))
        elif name in ("clean", "invalidate"):
            self._forget(jobid)
        elif name == "free":
            self._running.pop(jobid, None)
        elif name == "alloc":
            self._start(jobid, message.get("R"))
        elif name == RESIZED:
            self._resize(jobid, message.get("R"))
        elif jobid not in self._pending:
            self.doubts += jobid not in self._running
        elif name == "priority":
            self._pending.prioritize(jobid, context.get("priority", 0), event["timestamp"])
        else:
            self._pending.update(jobid, context)

    def _submit(self, jobid: int, context: JSON, spec: Any) -> None:
        parsed = jobspec.read(spec)
        group = parsed.group or self._group_of(context.get("userid", -1))
        queue = parsed.queue or names.ANONYMOUS_QUEUE
        likeness = Likeness(request_of(parsed), queue, group, Hold.DEPENDENCY)
        self._pending.put(jobid, likeness, parsed.duration, 0.0)

    def _start(self, jobid: int, resources: Any) -> None:
        likeness = self._pending.take_out(jobid)
        if likeness is None:
            self.doubts += 1
            return
        allocation = allocation_of(resources)
        least, most = _range(likeness.request, len(allocation))
        self._running[jobid] = AllocatedJob(likeness.queue, likeness.group, allocation, least, most)

    def _resize(self, jobid: int, resources: Any) -> None:
        """Set the resources of a job that was resized.

        Real Flux sends this event for a changed expiration, too; the resources are the same then.
        """
        job = self._running.get(jobid)
        self.doubts += job is None
        if job is not None and resources is not None:
            self._running[jobid] = replace(job, allocation=allocation_of(resources))

    def _forget(self, jobid: int) -> None:
        self._pending.take_out(jobid)
        self._running.pop(jobid, None)
        self._bypassing.discard(jobid)

    def pending(self, stopped: Collection[str]) -> tuple[PendingGroup, ...]:
        """Return the groups of pending jobs; those in the `stopped` queues are held."""
        return self._pending.counted(stopped)

    def running(self) -> tuple[AllocatedJob, ...]:
        """Return the jobs that have resources."""
        return tuple(self._running.values())


def request_of(parsed: Parsed) -> SlotRequest:
    """Return a job's request."""
    asked, sizes = parsed.asked, parsed.elastic
    request = SlotRequest(
        asked.nodes, asked.slots, asked.cores, asked.gpus, asked.exclusive, asked.constraint
    )
    return request if sizes is None else request._replace(least=sizes.least, most=sizes.most)


def allocation_of(resources: Any) -> tuple[tuple[int, int, int], ...]:
    """Return the resources of an R on each rank: (rank, cores, GPUs)."""
    allocation = resource_set.allocation_of(resources) if resources else {}
    return tuple(
        (rank, idset.size_of(cores), idset.size_of(gpus)) for rank, (cores, gpus) in allocation.items()
    )


def _counted(alike: Alike, stopped: Collection[str]) -> PendingGroup:
    request, queue, group, hold = alike.likeness
    if hold == Hold.NONE and queue in stopped:
        hold = Hold.HELD
    ready = hold == Hold.NONE
    return PendingGroup(
        request,
        queue,
        group,
        len(alike.jobs),
        hold,
        next(iter(alike.jobs.values())) if ready else 0.0,
        alike.work / 1000,
    )


def _range(request: SlotRequest, nodes: int) -> tuple[int, int]:
    """Return the range in nodes of an elastic job on `nodes` nodes; one in slots is scaled by these."""
    if not request.most:
        return 0, 0
    if request.nodes:
        return request.least, request.most
    return -(-request.least * nodes // request.slots), -(-request.most * nodes // request.slots)
