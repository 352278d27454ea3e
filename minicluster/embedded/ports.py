"""Where the halves of a lead broker meet: the job engine (no sockets) and the broker side (sockets, tasks).

The broker side implements `Executor` (and has the topics' `services.Registry`); the engine implements
`JobEvents` and `Membership`.
Everything here is called on the lead's one event loop, and no call blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

JSON = dict[str, Any]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Launch:
    """A job that got resources: everything its processes need."""

    id: int
    jobspec: JSON  # RFC 25, with attributes.system.environment
    R: JSON  # RFC 20
    userid: int


class Executor(Protocol):
    """Runs the processes of jobs; each `start` ends with one `finished`, and `released` up to final=True."""

    def start(self, launch: Launch) -> None:
        """Begin to start the job on the ranks of R. Errors come back as `JobEvents.exception`."""

    def signal(self, jobid: int, signum: int) -> None:
        """Deliver a signal to every task (`flux job kill`). A job that is gone is ignored."""

    def kill(self, jobid: int, signum: int) -> None:
        """End a job after a fatal exception: `signum` now, SIGKILL after the kill timeout."""


class JobEvents(Protocol):
    """What the executor reports: started, output…, finished, released…; exception at any time."""

    def started(self, jobid: int) -> None:
        """All shells were told to start: RFC 21 `start`."""

    def exec_event(self, jobid: int, name: str, context: JSON | None = None) -> None:
        """Append to guest.exec.eventlog: init, starting, shell.init, shell.start, complete, done."""

    def finished(self, jobid: int, status: int) -> None:
        """Every task ended; `status` is the largest wait status (`start failed: not found` is 127 << 8)."""

    def released(self, jobid: int, ranks: Iterable[int], final: bool) -> None:
        """These broker ranks hold nothing of the job any more. After final=True the job becomes INACTIVE."""

    def exception(self, jobid: int, kind: str, severity: int, note: str) -> None:
        """Raise an exception (RFC 21). Severity 0 is fatal: the engine calls `Executor.kill` in answer."""

    def output(self, jobid: int, task: int, stream: str, data: bytes) -> None:
        """Store task output; `stream` is "stdout" or "stderr". Storage that is full fails the job."""

    def shell_log(self, jobid: int, node: int, level: int, message: str) -> None:
        """A message of the shell on the job's n-th node, as RFC 24 has it; `level` as in syslog(3)."""

    def eof(self, jobid: int, task: int, stream: str) -> None:
        """The stream of this task ended."""


class Membership(Protocol):
    """Which brokers are there. The scheduler gives no work to a rank that is down."""

    def rank_up(self, rank: int, host: str) -> None:
        """The broker joined (the lead itself too)."""

    def rank_down(self, rank: int, reason: str) -> None:
        """The broker left or was lost. The executor raises the exceptions of the jobs it ran."""


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
