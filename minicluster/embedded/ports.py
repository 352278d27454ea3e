"""Where the halves of a lead broker meet: the job engine (no sockets) and the broker side (sockets, tasks).

The broker side implements `Executor` (and has the topics' `services.Registry`); it reports to the engine's
`JobManager` and `ResourceStatus`. Everything here is called on the lead's one event loop, and no call blocks.
"""

from __future__ import annotations

from collections.abc import Callable
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
    """Runs the processes of jobs; each `start` ends with one `finished` and one `released`."""

    def start(self, launch: Launch) -> None:
        """Begin to start the job on the ranks of R. Errors come back as `JobManager.exception`."""

    def signal(self, jobid: int, signum: int) -> None:
        """Deliver a signal to every task (`flux job kill`). A job that is gone is ignored."""

    def kill(self, jobid: int, signum: int) -> None:
        """End a job after a fatal exception: `signum` now, SIGKILL after the kill timeout."""


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
