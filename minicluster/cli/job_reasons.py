"""Why a job waits, or how it ended, in words."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from broker_config.formats import durations
from minicluster.cli.job_words import written
from minicluster.cli.tables import age
from minicluster.instance.records import JobResult
from minicluster.instance.wait_reasons import Wording

if TYPE_CHECKING:
    from minicluster.instance.records import Job


def _start(queue: str) -> str:
    option = f" -q {queue}" if queue else ""
    return f"; `minicluster shell NAME -- flux queue start{option}` starts it"


WORDING = Wording(
    written,
    age,
    _start,
    lambda most: f"; up to {most} with `minicluster scale`",
    "; `minicluster burst plan` has when, or why not",
)
"""Why a job waits, as commands write it."""


def ending(job: Job) -> str:
    """Return why a job failed, or was ended before its time; for one that completed, where it ran."""
    fatal = job.exception if job.exception is not None and job.exception.severity == 0 else None
    note = fatal.note if fatal is not None else ""
    if job.result is JobResult.CANCELED:
        return f"canceled: {note}" if note else "canceled"
    if job.result is JobResult.TIMEOUT:
        return f"the time limit of {durations.encode(job.duration).replace('.000', '')} was over"
    if job.result is not JobResult.FAILED:
        return job.nodelist
    if fatal is not None:
        return note or f"exception {fatal.type}"
    where = f" on {job.nodelist}" if job.nodelist else ""
    return f"{_exit(job.returncode or 0)}{where}"


def outcome(job: Job) -> str:
    """Return the result of a job that has ended, and why, if it did not complete."""
    if job.result is None or job.result is JobResult.COMPLETED:
        return job.result.name or "" if job.result else "ended, the result is not known"
    reason = ending(job).removeprefix("canceled").removeprefix(": ")
    return f"{job.result.name}, {reason}" if reason else str(job.result.name)


def _exit(code: int) -> str:
    """Return an exit code with the signal that it stands for, as shells report it."""
    number = -code if code < 0 else code - 128
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"exit code {code}"
    return name if code < 0 else f"exit code {code} ({name})"
