"""The records of a running instance: frozen, with the standard library alone.

Times are seconds since the epoch (0.0: not yet), durations are seconds (0.0: no limit). Ids are the integers
of RFC 19. Hosts are RFC 29 hostlists and ranks RFC 22 idsets, where a field names the RFC.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats.job_states import JobResult, JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Broker",
    "BurstSummary",
    "Drain",
    "Event",
    "Job",
    "JobChange",
    "JobException",
    "JobFilter",
    "JobRequest",
    "JobResult",
    "JobState",
    "OutputChunk",
    "QueueResources",
    "QueueStats",
    "QueueStatus",
    "ResourceSubset",
    "Resources",
]


@dataclass(frozen=True, slots=True)
class JobException:
    """The exception that ended a job or was raised on it (RFC 21); severity 0 is fatal."""

    type: str
    severity: int
    note: str


@dataclass(frozen=True, slots=True)
class Job:
    """One job."""

    id: int
    state: JobState
    result: JobResult | None = None
    name: str = ""
    userid: int = 0
    urgency: int = 16
    priority: int | None = None
    """None until it has one."""
    queue: str = ""
    cwd: str = ""
    t_submit: float = 0.0
    t_depend: float = 0.0
    t_run: float = 0.0
    t_cleanup: float = 0.0
    t_inactive: float = 0.0
    nnodes: int = 0
    ntasks: int = 0
    ncores: int = 0
    """0 until it is known."""
    duration: float = 0.0
    """The time limit."""
    expiration: float = 0.0
    nodelist: str = ""
    """A hostlist (RFC 29), empty before it runs."""
    ranks: str = ""
    """An idset (RFC 22), empty before it runs."""
    waitstatus: int | None = None
    """The highest wait status of its tasks, as of wait(2)."""
    exception: JobException | None = None
    dependencies: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] | None = None
    """Those of `attributes.user`; None in a listing."""
    owner: str = ""
    """The user's name, where a service has users of its own; else `userid` is one of the cluster's."""

    @property
    def returncode(self) -> int | None:
        """Exit code, or negative signal; -128 if cancelled, 1 if failed before it ran; else None.

        It is never 0 with an exception that ended the job: Flux may note a wait status of 0 there.
        """
        if self.waitstatus is not None:
            ended = self.exception is not None and self.exception.severity == 0
            return os.waitstatus_to_exitcode(self.waitstatus) or int(ended)
        if self.result is JobResult.CANCELED:
            return -128
        return 1 if self.result is JobResult.FAILED else None


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job to be submitted (RFC 25, jobspec version 1)."""

    command: tuple[str, ...]
    tasks: int = 1
    nodes: int = 0
    """0: on any number of nodes on which the tasks fit."""
    cores_per_task: int = 1
    gpus_per_task: int = 0
    exclusive: bool = False
    duration: float = 0.0
    """In seconds; 0: no limit."""
    environment: Mapping[str, str] | None = None
    """The whole environment of the tasks. None: this process's, or that of the broker in a far pod."""
    cwd: str | None = None
    """The working directory of the tasks. None: as with `environment`."""
    name: str = ""
    urgency: int = 16
    """0 (held) to 31."""
    dependencies: tuple[str, ...] = ()
    """Like `afterok:123`."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """For `attributes.user`."""
    shell_options: Mapping[str, Any] = field(default_factory=dict)
    """For `attributes.system.shell.options`, with dots between levels: `output.stdout.path`."""
    system: Mapping[str, Any] = field(default_factory=dict)
    """Further ones of `attributes.system`, with dots between levels."""
    queue: str = ""
    waitable: bool = False
    """Whether it is kept for `flux job wait`."""
    script: str = ""
    """The text of a batch script, as of `flux batch`; `command` is then its name and its arguments.

    The job is an instance of its own, with a broker on each of its nodes, and the script runs in that.
    """


class Resubmission(NamedTuple):
    """A jobspec that is submitted as it is."""

    jobspec: Mapping[str, Any]
    """RFC 25."""
    urgency: int = 16
    waitable: bool = False
    """Whether its submitter will wait for it by `flux job wait`."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a listing has. A field that is None or empty does not restrict it."""

    states: JobState | None = None
    """A job needs one of these states, or one of `results`."""
    results: JobResult | None = None
    userid: int | None = None
    name: str = ""
    queue: str = ""
    since: float = 0.0
    """Leaves out jobs that ended before this time."""
    submitted: tuple[float, float] | None = None
    """Since the first time and before the second one; 0 and math.inf do not restrict it."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a job's eventlog (RFC 18, names and contexts RFC 21)."""

    id: int
    """The job's."""
    timestamp: float
    """In seconds since 1970."""
    name: str
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobChange:
    """A job after something happened to it. Who keeps the last one of each id has what listings have."""

    job: Job | None
    """With its user attributes, and with an exception that did not end it, which Flux lists of an ended job
    only. None, once in a stream: all that there was has come, and what follows is news.
    """
    events: tuple[Event, ...] = ()
    """What happened; of a job that there was, all that is stored. Empty where a listing was read."""


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """A piece of a job's output (RFC 24)."""

    id: int
    sequence: int
    """Counts the entries of the job's output from 0: `output(id, after=sequence)` goes on behind it."""
    task: int
    """The task's rank, or with the stream "log" that of the job's shell."""
    stream: str
    """Either "stdout", "stderr", or "log" for messages of the job's shell."""
    data: bytes
    last: bool = True
    """Whether it is the last one of its entry, which can hold output of several tasks: a reader that goes on
    behind an earlier one loses the others.
    """


@dataclass(frozen=True, slots=True)
class ResourceSubset:
    """Some of the instance's resources."""

    ranks: tuple[int, ...] = ()
    """In ascending order."""
    hosts: tuple[str, ...] = ()
    """In the order of the ranks."""
    cores: int = 0
    """How many."""
    gpus: int = 0
    """How many."""

    @property
    def nodes(self) -> int:
        """How many brokers these resources are on."""
        return len(self.ranks)


@dataclass(frozen=True, slots=True)
class Drain:
    """Brokers that get no new work."""

    ranks: str
    """An idset (RFC 22)."""
    timestamp: float
    """When they were drained."""
    reason: str


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of an instance: `all` = `up` + `down`, `up` = `free` + `allocated` by core.

    As in `flux resource list`, drained nodes are down for the scheduler, and are also in `drained`.
    """

    all: ResourceSubset
    up: ResourceSubset
    down: ResourceSubset
    free: ResourceSubset
    allocated: ResourceSubset
    drained: ResourceSubset
    offline: ResourceSubset
    """On nodes without a broker."""
    drains: tuple[Drain, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueResources:
    """The resources of an instance, by the queues whose jobs may get them."""

    ordinary: Resources
    """Of all queues but those of bursts."""
    bursts: Mapping[str, Resources] = field(default_factory=dict)
    """By queue: of the waiting room, all slots'; of a slot's queue, the slot's."""

    def of(self, queue: str) -> Resources:
        """Return what the jobs of a queue may get."""
        return self.bursts.get(queue, self.ordinary)


@dataclass(frozen=True, slots=True)
class BurstSummary:
    """A burst that is not deleted, as its burst service reports it (BurstStatus of the document)."""

    id: str
    slot: str = ""
    provider: str = ""
    state: str = ""
    nodes: int = 0
    until: str = ""
    """When it ends at the latest (RFC 3339, UTC)."""
    cost: str = ""
    """At worst, with the currency."""


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Numbers of jobs: by state, and by result for the inactive ones that the instance still knows."""

    depend: int = 0
    priority: int = 0
    sched: int = 0
    run: int = 0
    cleanup: int = 0
    inactive: int = 0
    total: int = 0
    successful: int = 0
    failed: int = 0
    canceled: int = 0
    timeout: int = 0
    queues: Mapping[str, QueueStats] = field(default_factory=dict)
    """The same by named queue; empty where no queue has a name."""

    @property
    def pending(self) -> int:
        """Jobs that have not begun."""
        return self.depend + self.priority + self.sched

    @property
    def running(self) -> int:
        """Jobs that hold resources."""
        return self.run + self.cleanup


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The state of a queue."""

    name: str
    """Empty for the only queue, where none has a name."""
    enabled: bool
    """Whether it takes jobs."""
    started: bool
    """Whether it starts jobs."""
    disable_reason: str = ""
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker of the instance."""

    rank: int
    host: str
    state: str
    """As the overlay has it: full, partial, degraded, lost or offline."""
