"""A job as the engine holds it while it is active (RFC 21), small enough for 100,000 of them."""

from __future__ import annotations

import enum
from sys import intern
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minicluster.embedded.jobspec import Parsed

URGENCY_DEFAULT = 16
URGENCY_HOLD = 0
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


class Job:
    """An active job. Its jobspec and its eventlog live in the store."""

    __slots__ = (
        "R",
        "annotations",
        "cwd",
        "dependencies",
        "duration",
        "exception",
        "extra",
        "flags",
        "id",
        "name",
        "ntasks",
        "priority",
        "queue",
        "resources",
        "start_pending",
        "started",
        "state",
        "status",
        "t_cleanup",
        "t_depend",
        "t_inactive",
        "t_priority",
        "t_run",
        "t_sched",
        "t_submit",
        "timer",
        "urgency",
        "userid",
    )

    def __init__(self, jobid: int, userid: int, urgency: int, flags: int, parsed: Parsed) -> None:
        self.id = jobid
        self.userid = userid
        self.urgency = urgency
        self.flags = flags
        self.resources = parsed.resources
        self.duration = parsed.duration
        self.name = intern(parsed.name)
        self.ntasks = parsed.ntasks
        self.cwd = intern(parsed.cwd) if parsed.cwd is not None else None
        self.queue = parsed.queue
        self.extra = parsed.extra
        self.state = State.NEW
        self.priority: int | None = None
        self.t_submit = self.t_depend = self.t_priority = self.t_sched = 0.0
        self.t_run = self.t_cleanup = self.t_inactive = 0.0
        self.R: dict[str, Any] | None = None  # while it holds resources, and after
        self.start_pending = False  # the executor still owes its last release
        self.started = False
        self.status: int | None = None  # wait status
        self.exception: tuple[str, int, str] | None = None  # type, severity, note of the gravest
        self.annotations: dict[str, Any] | None = None
        self.dependencies: list[str] | None = None  # descriptions of those not yet satisfied
        self.timer: Any = None  # ends its time limit

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
