"""A job as the engine holds it while it is active (RFC 21), small enough for 100,000 of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minicluster.embedded.elastic import Sizes
    from minicluster.embedded.jobspec import Parsed, Resources

URGENCY_EXPEDITE = 31
PRIORITY_LARGEST = (1 << 32) - 1
DEBUG, WAITABLE, NOVALIDATE = 2, 4, 8
FLAGS = DEBUG | WAITABLE | NOVALIDATE


class State(enum.IntFlag):
    """RFC 21 states, as the bits that Flux's job-list uses."""

    NEW = 1
    DEPEND = 2
    PRIORITY = 4
    SCHED = 8
    RUN = 16
    CLEANUP = 32
    INACTIVE = 64
    PENDING = DEPEND | PRIORITY | SCHED
    RUNNING = RUN | CLEANUP
    ACTIVE = PENDING | RUNNING


class Result(enum.IntFlag):
    """How a job ended."""

    COMPLETED = 1
    FAILED = 2
    CANCELED = 4
    TIMEOUT = 8


@dataclass(slots=True, eq=False)
class Job:
    """An active job. Its jobspec and its eventlog live in the store."""

    id: int
    userid: int
    urgency: int
    flags: int
    resources: Resources
    duration: float
    name: str
    ntasks: int
    tasks_per: tuple[str, int] | None
    cwd: str | None
    queue: str | None
    elastic: Sizes | None = None
    state: State = State.NEW
    priority: int | None = None
    t_submit: float = 0.0
    t_depend: float = 0.0
    t_priority: float = 0.0
    t_sched: float = 0.0
    t_run: float = 0.0
    t_cleanup: float = 0.0
    t_inactive: float = 0.0
    R: dict[str, Any] | None = None  # while it holds resources, and after
    restored: bool = False  # taken up from the store: it waits, also where it does not fit any more
    start_pending: bool = False  # the executor still owes its release
    started: bool = False
    status: int | None = None  # wait status
    exception: tuple[str, int, str] | None = None  # type, severity, note of the gravest
    annotations: dict[str, Any] | None = None
    dependencies: list[str] | None = None  # descriptions of those not yet satisfied
    timer: Any = None  # ends its time limit

    @classmethod
    def of(cls, jobid: int, userid: int, urgency: int, flags: int, parsed: Parsed) -> Job:
        """A new job."""
        cwd = intern(parsed.cwd) if parsed.cwd is not None else None
        asked = (parsed.resources, parsed.duration, intern(parsed.name), parsed.ntasks, parsed.tasks_per)
        return cls(jobid, userid, urgency, flags, *asked, cwd, parsed.queue, parsed.elastic)

    @property
    def result(self) -> Result:
        """How it ended (RFC 21): an exception counts before the tasks' status."""
        if self.exception is not None and self.exception[1] == 0:
            kinds = {"cancel": Result.CANCELED, "timeout": Result.TIMEOUT}
            return kinds.get(self.exception[0], Result.FAILED)
        return Result.COMPLETED if self.status == 0 else Result.FAILED

    @property
    def expiration(self) -> float:
        """When its time limit ends it, 0 without one."""
        return float(self.R["execution"]["expiration"]) if self.R else 0.0


def priority_of(urgency: int) -> int:
    """Flux's default: the urgency, except that 31 goes before everything."""
    return PRIORITY_LARGEST if urgency == URGENCY_EXPEDITE else urgency
