"""Where the halves of a lead broker meet: the job engine (no sockets) and the broker side (sockets, tasks).

The broker side implements `Executor` (and has the topics' `services.Registry`); it reports to the
`JobEvents` of each launch, and to `ResourceStatus`. Everything here is called on the lead's one event loop,
and no call blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Collection, Iterable, Mapping

    from minicluster.malleable.callers import Callers
    from queue_policies.nodes.records import Slot

JSON = dict[str, Any]
Clock = Callable[[], float]


class JobEvents(Protocol):
    """Is told of what happens to jobs' processes."""

    def started(self, jobid: int) -> None:
        """All shells were told to start."""

    def exec_event(self, jobid: int, name: str, context: JSON | None = None) -> None:
        """Something happened that belongs into guest.exec.eventlog."""

    def finished(self, jobid: int, status: int) -> None:
        """Every task ended."""

    def released(self, jobid: int) -> None:
        """No rank holds anything of the job any more."""

    def exception(self, jobid: int, kind: str, severity: int, note: str) -> None:
        """Something went wrong with the job's processes."""

    def task_ended(self, jobid: int, task: int) -> None:
        """A task of a malleable job ended."""

    def output(self, jobid: int, task: int, stream: str, data: bytes) -> None:
        """A task wrote."""

    def redirected(self, jobid: int, tasks: int, stream: str, path: str) -> None:
        """A stream of all tasks goes to a file."""

    def shell_log(self, jobid: int, node: int, level: int, message: str) -> None:
        """The job's shell has a message."""

    def eof(self, jobid: int, task: int, stream: str) -> None:
        """A task's stream ended."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A job that got resources: everything its processes need."""

    id: int
    jobspec: JSON  # RFC 25, with attributes.system.environment
    R: JSON  # RFC 20
    userid: int
    credentials: str | None = field(repr=False)  # of a malleable job: its program's file
    events: JobEvents = field(repr=False, compare=False)  # is told of the job's processes


class Executor(Protocol):
    """Runs the processes of jobs; each `start` ends with one `finished` and one `released`."""

    def start(self, launch: Launch) -> None:
        """Begin to start the job on the ranks of R. Errors come back as `JobEvents.exception`."""

    def signal(self, jobid: int, signum: int) -> None:
        """Deliver a signal to every task (`flux job kill`). A job that is gone is ignored."""

    def kill(self, jobid: int, signum: int) -> None:
        """End a job after a fatal exception: `signum` now, SIGKILL after the kill timeout."""

    # Of malleable jobs, whose every task that ends comes back as `JobEvents.task_ended`:

    def extend(self, jobid: int, order: int, slots: Mapping[int, Slot], hosts: Mapping[int, str]) -> bool:
        """Start further tasks, by number, each in its slot; their ends do not count. `hosts`: by rank.

        Return False where the job is gone, and nothing was started.
        """

    def admit(self, jobid: int, tasks: Iterable[int]) -> None:
        """From now on the ends of these tasks count."""

    def dismiss(self, jobid: int, slots: Mapping[int, Slot]) -> None:
        """From now on the ends of these tasks do not count."""

    def end_tasks(self, jobid: int, tasks: Collection[int]) -> None:
        """End these tasks: SIGTERM now, SIGKILL after the kill timeout."""


class Listener(Protocol):
    """Where programs of malleable jobs connect. Connections are numbered."""

    def open(self, callers: Callers) -> str:
        """Begin to listen, if that is not so yet, and return the address, host:port. Raises OSError."""

    def send(self, connection: int, data: bytes) -> None:
        """Send; a connection that is gone is ignored."""

    def hang_up(self, connection: int) -> None:
        """Close a connection once all is sent."""

    def close(self) -> None:
        """Close everything."""


@dataclass(frozen=True, slots=True)
class LeadContext:
    """What the lead broker hands to the engine."""

    config: JSON  # broker.toml, parsed
    R: JSON  # RFC 20, every host of [bootstrap]
    statedir: str  # the SQLite file is <statedir>/jobs.sqlite
    executor: Executor
    owner: int  # uid of the instance's owner
    restore: str | None = None  # a dump to begin with
    log: Callable[[int, str], None] = lambda _level, _text: None  # syslog level, text
    clock: Clock | None = None  # time.time
    loop: AbstractEventLoop | None = None  # the running one
    listener: Listener | None = None  # None: no program of a malleable job can reach the instance
