"""A job's states, results (RFC 21) and flags: the bits that Flux's services use, and their names."""

from __future__ import annotations

import enum


class JobState(enum.IntFlag):
    """The states, and Flux's names for groups of them."""

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


class JobResult(enum.IntFlag):
    """How a job ended."""

    COMPLETED = 1
    FAILED = 2
    CANCELED = 4
    TIMEOUT = 8


class JobFlag(enum.IntFlag):
    """Options of a submission besides the jobspec."""

    DEBUG = 2
    WAITABLE = 4
    NOVALIDATE = 8


PENDING_STATES = ("depend", "priority", "sched")
"""The names, in small letters, of the states before a job has resources."""
RUNNING_STATES = ("run", "cleanup")
"""The names, in small letters, of the states in which a job has resources."""
STATES = (*PENDING_STATES, *RUNNING_STATES, "inactive")
"""The names under which Flux counts jobs, in their order."""
STATE_NAMES = {
    int(state): str(state.name)
    for state in (
        JobState.NEW, JobState.DEPEND, JobState.PRIORITY, JobState.SCHED,
        JobState.RUN, JobState.CLEANUP, JobState.INACTIVE,
    )
}  # fmt: skip
"""The names of single states by their bits, in capital letters."""
RESULT_NAMES = {int(result): str(result.name) for result in JobResult}
"""The names of results by their bits, in capital letters."""
RESULT_COUNTS = {
    "successful": JobResult.COMPLETED,
    "failed": JobResult.FAILED,
    "canceled": JobResult.CANCELED,
    "timeout": JobResult.TIMEOUT,
}
"""The names under which Flux counts how jobs ended."""
EXCEPTION_RESULTS = {"cancel": JobResult.CANCELED, "timeout": JobResult.TIMEOUT}
"""The result of a job that a fatal exception of this type ended; with another type it FAILED."""


def state_of(name: str) -> JobState:
    """Return the state, or group of states, of a name in any letters. Raises KeyError."""
    return JobState[name.upper()]


def result_of(name: str) -> JobResult:
    """Return the result of a name in any letters. Raises KeyError."""
    return JobResult[name.upper()]
