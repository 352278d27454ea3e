"""What a running instance says about itself: frozen records, standard library only.

Times are seconds since the epoch (0.0: not yet), durations seconds (0.0: no limit), ids the integers of
RFC 19, hosts RFC 29 hostlists and ranks RFC 22 idsets where a record says so.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker_config.formats.job_states import JobResult, JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Broker",
    "Drain",
    "Event",
    "Job",
    "JobException",
    "JobFilter",
    "JobRequest",
    "JobResult",
    "JobState",
    "OutputChunk",
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
    """One job.

    `ncores` is 0 until it is known; `duration` is the time limit; `priority` is None until it has one;
    `nodelist` (RFC 29) and `ranks` (RFC 22) are empty before it runs; `waitstatus` is the highest wait status
    of its tasks, as of wait(2). `attributes` are those of `attributes.user`; a listing has None there.
    """

    id: int
    state: JobState
    result: JobResult | None = None
    name: str = ""
    userid: int = 0
    urgency: int = 16
    priority: int | None = None
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
    duration: float = 0.0
    expiration: float = 0.0
    nodelist: str = ""
    ranks: str = ""
    waitstatus: int | None = None
    exception: JobException | None = None
    dependencies: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] | None = None

    @property
    def returncode(self) -> int | None:
        """Exit code, or negative signal; -128 if cancelled, 1 if failed before it ran; else None."""
        if self.waitstatus is not None:
            return os.waitstatus_to_exitcode(self.waitstatus)
        if self.result is JobResult.CANCELED:
            return -128
        return 1 if self.result is JobResult.FAILED else None


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job to be submitted (RFC 25, jobspec version 1).

    `nodes` 0: wherever the tasks fit; `duration` in seconds, 0 without limit; `environment` is the whole
    environment of the tasks, `cwd` their directory; None: those of this process, for an instance in a far pod
    those of the broker there. `urgency` is 0 (held) to 31; `dependencies` are like `afterok:123`;
    `attributes` go to `attributes.user`; `shell_options` to `attributes.system.shell.options` with dots as
    levels (`output.stdout.path`); `waitable` jobs are kept for `flux job wait`.
    """

    command: tuple[str, ...]
    tasks: int = 1
    nodes: int = 0
    cores_per_task: int = 1
    gpus_per_task: int = 0
    exclusive: bool = False
    duration: float = 0.0
    environment: Mapping[str, str] | None = None
    cwd: str | None = None
    name: str = ""
    urgency: int = 16
    dependencies: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    shell_options: Mapping[str, Any] = field(default_factory=dict)
    queue: str = ""
    waitable: bool = False


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a listing holds; None or empty does not restrict. Any of the states or results will do."""

    states: JobState | None = None
    results: JobResult | None = None
    userid: int | None = None
    name: str = ""
    queue: str = ""
    since: float = 0.0
    """Leaves out jobs that ended before this time."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a job's eventlog (RFC 18, names and contexts RFC 21)."""

    id: int
    timestamp: float
    name: str
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """A piece of a job's output (RFC 24).

    `stream` is "stdout", "stderr", or "log" for the words of the job's shell (`task` is then that shell's).
    `sequence` counts the entries of the job's output from 0: `output(id, after=sequence)` goes on behind it.
    """

    id: int
    sequence: int
    task: int
    stream: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ResourceSubset:
    """Some of the instance's resources: `ranks` ascending, `hosts` in their order, cores and GPUs counted."""

    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    cores: int = 0
    gpus: int = 0

    @property
    def nodes(self) -> int:
        """How many brokers these resources are on."""
        return len(self.ranks)


@dataclass(frozen=True, slots=True)
class Drain:
    """Brokers that get no new work: `ranks` as an idset, since when and why."""

    ranks: str
    timestamp: float
    reason: str


@dataclass(frozen=True, slots=True)
class Resources:
    """What there is: `all` = `up` + `down`, `up` = `free` + `allocated` by core.

    As in `flux resource list`, what is drained is down for the scheduler; `drained` names it besides.
    `offline` are those whose broker is not there.
    """

    all: ResourceSubset
    up: ResourceSubset
    down: ResourceSubset
    free: ResourceSubset
    allocated: ResourceSubset
    drained: ResourceSubset
    offline: ResourceSubset
    drains: tuple[Drain, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Numbers of jobs: by state, and by result for the inactive ones that are still known."""

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
    """A queue: does it take jobs (`enabled`), does it start them (`started`), if not, why not.

    The queue "" is the one there is where none has a name.
    """

    name: str
    enabled: bool
    started: bool
    disable_reason: str = ""
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker of the instance; `state` is the overlay's word: full, partial, degraded, lost or offline."""

    rank: int
    host: str
    state: str
