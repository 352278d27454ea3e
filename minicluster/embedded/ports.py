"""The interfaces between the halves of a lead broker: the job engine, and the broker side with its sockets.

The broker side implements `Executor`, and has the topics' `services.Registry`. It reports to the `JobEvents`
of each launch, and to `ResourceStatus`. All calls are made on the lead's one event loop, and none blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from minicluster.embedded.execution.messages import RankLimit
    from minicluster.malleable.callers import Callers
    from queue_policies.nodes.records import Slot
    from queue_policies.placement.workers import TaskWorker

JSON = dict[str, Any]
Clock = Callable[[], float]


class JobEvents(Protocol):
    """Receives what happens to jobs' processes."""

    def started(self, jobid: int) -> None:
        """All ranks reported the start of their tasks."""

    def exec_event(self, jobid: int, name: str, context: JSON | None = None) -> None:
        """An event for guest.exec.eventlog happened."""

    def finished(self, jobid: int, status: int) -> None:
        """Every task ended."""

    def released(self, jobid: int) -> None:
        """No rank has processes of the job any more."""

    def exception(self, jobid: int, kind: str, severity: int, note: str) -> None:
        """The job's processes failed."""

    def task_ended(self, jobid: int, task: int) -> None:
        """A task of a malleable job ended."""

    def output(self, jobid: int, task: int, stream: str, data: bytes) -> None:
        """A task wrote output."""

    def redirected(self, jobid: int, tasks: int, stream: str, path: str) -> None:
        """A stream of all tasks goes to a file."""

    def shell_log(self, jobid: int, node: int, level: int, message: str, component: str) -> None:
        """The job's shell sent a message."""

    def eof(self, jobid: int, task: int, stream: str) -> None:
        """A task's stream ended."""

    def limited(self, jobid: int, order: int, ways: Sequence[str]) -> None:
        """A CPU limit holds on all ranks of the job; `ways` are the words for what enforces it."""

    def used(self, jobid: int, rank: int, seconds: float, cpu: float, memory: float) -> None:
        """A job used `cpu` seconds of CPU time on a rank in `seconds`, and of its memory this fraction."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A job that got resources, with all that starting its processes needs."""

    id: int
    jobspec: JSON
    """RFC 25, with `attributes.system.environment`."""
    R: JSON
    """RFC 20."""
    userid: int
    credentials: str | None = field(repr=False)
    """Of a malleable job: its program's file."""
    events: JobEvents = field(repr=False, compare=False)
    """Receives what happens to the job's processes."""
    workers: Mapping[int, tuple[TaskWorker, ...]] = field(default_factory=dict)
    """The task workers by rank; {}: the job has none."""
    floats: bool = False
    """Whether its tasks are not bound to cores unless its shell options ask for it."""
    limits: Mapping[int, RankLimit] | None = None
    """By rank, where jobs may share cores; None: nothing is limited or measured."""


class Executor(Protocol):
    """Runs the processes of jobs; each `start` ends with one `finished` and one `released`."""

    def start(self, launch: Launch) -> None:
        """Begin to start the job on the ranks of R. Errors are reported by `JobEvents.exception`."""

    def signal(self, jobid: int, signum: int) -> None:
        """Deliver a signal to every task (`flux job kill`). A job that is gone is ignored."""

    def kill(self, jobid: int, signum: int) -> None:
        """End a job after a fatal exception: `signum` now, SIGKILL after the kill timeout."""

    def limit(self, jobid: int, limits: Mapping[int, RankLimit]) -> None:
        """Let a job that was launched with limits use so much CPU time on its ranks from now on."""

    # For malleable jobs; `JobEvents.task_ended` reports every task of theirs that ended:

    def extend(self, jobid: int, order: int, slots: Mapping[int, Slot], hosts: Mapping[int, str]) -> bool:
        """Start further tasks in `slots`, by task number; their ends do not count. `hosts` are by rank.

        Returns False where the job is gone, and nothing was started.
        """

    def admit(self, jobid: int, tasks: Iterable[int]) -> None:
        """Count the ends of these tasks from now on."""

    def dismiss(self, jobid: int, slots: Mapping[int, Slot]) -> None:
        """Do not count the ends of these tasks from now on."""

    def end_tasks(self, jobid: int, tasks: Collection[int]) -> None:
        """End these tasks: SIGTERM now, SIGKILL after the kill timeout."""


class Listener(Protocol):
    """A listener to which programs of malleable jobs connect. Connections are numbered."""

    def open(self, callers: Callers) -> str:
        """Listen, at the first call, and return the address, host:port. Raises OSError."""

    def send(self, connection: int, data: bytes) -> None:
        """Send data; a connection that is gone is ignored."""

    def hang_up(self, connection: int) -> None:
        """Close a connection once all its data is sent."""

    def close(self) -> None:
        """Close the listener and all connections."""


@dataclass(frozen=True, slots=True)
class QuotaEnforcement:
    """What enforces CPU quotas on the lead's rank."""

    way: str
    """The word for it; empty: nothing does."""
    whole_cores: bool
    """Whether jobs get whole cores alone."""
    others: str
    """The ways that do not hold, each with the reason."""


@dataclass(frozen=True, slots=True)
class LeadContext:
    """The inputs of the engine from the lead broker."""

    config: JSON
    """broker.toml, parsed."""
    R: JSON
    """RFC 20, every host of `[bootstrap]`."""
    statedir: str
    """The SQLite file is `<statedir>/jobs.sqlite`."""
    executor: Executor
    owner: int
    """The uid of the instance's owner."""
    restore: str | None = None
    """The path of a dump to begin with."""
    log: Callable[[int, str], None] = lambda _level, _text: None
    """Takes a syslog level and a text."""
    clock: Clock | None = None
    """None: `time.time`."""
    loop: AbstractEventLoop | None = None
    """None: the running one."""
    listener: Listener | None = None
    """None: no program of a malleable job can reach the instance."""
    enforcement: Callable[[], QuotaEnforcement] | None = None
    """Finds what enforces CPU quotas; asked where the policy has jobs share cores. None: nothing does."""
