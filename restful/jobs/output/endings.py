"""How a feed ends, and what is reported of it. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobid
from broker_config.formats.job_states import RESULT_NAMES, STATE_NAMES

if TYPE_CHECKING:
    from minicluster.instance.records import Job


class EndReason(StrEnum):
    """Why there is no more."""

    ENDED = "ended"
    """The job has ended, and this was all of its output."""
    READ = "read"
    """This was what is there now, as asked; the job goes on."""
    GONE = "gone"
    """The instance does not know the job any more."""
    AWAY = "away"
    """The instance cannot be reached, or does not answer as it should."""
    CLOSED = "closed"
    """This service ends the stream: it is about to end itself."""


@dataclass(frozen=True, slots=True)
class FeedEnd:
    """Why there is no more of a feed."""

    reason: EndReason
    job: Job | None = None
    """With ENDED: as it ended."""
    successor: int | None = None
    """The job's new id, where the job was restarted."""


def summary(job: Job) -> dict[str, Any]:
    """Return how a job is, and how it ended if it has."""
    exception = job.exception
    return {
        "state": STATE_NAMES.get(int(job.state), "").lower(),
        "result": None if job.result is None else RESULT_NAMES.get(int(job.result), "").lower(),
        "returncode": job.returncode,
        "exception": None
        if exception is None
        else {"type": exception.type, "severity": exception.severity, "note": exception.note},
    }


def names_of(number: int) -> dict[str, Any]:
    """Return a job's id as a number, and as text (F58, RFC 19): a browser's numbers are too small for it."""
    return {"id": number, "f58": jobid.f58(number)}
