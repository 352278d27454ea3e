"""Why a job waits, or how it ended, in words."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_config.formats import durations, jobid
from broker_config.formats.errors import JobIdError
from minicluster.cli.job_words import written
from minicluster.cli.tables import age
from minicluster.instance.records import JobResult, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from minicluster.instance.records import Job, QueueStatus, Resources, ResourceSubset


@dataclass(frozen=True, slots=True)
class QueueContext:
    """What pending jobs wait amid."""

    resources: Resources
    queues: Sequence[QueueStatus]
    first: Callable[[], int | None] = lambda: None
    """Returns the id of the job that is first among those that could start; None: it is not known."""
    gpus: Callable[[Job], int] = lambda _job: 0
    """Returns how many GPUs a job needs, where that is known."""


def why(job: Job, around: QueueContext) -> str:
    """Return what a pending job waits for."""
    return waits_by_itself(job) or _stopped(job, around.queues) or f"{_amid(job, around)}{_eta(job)}"


def waits_by_itself(job: Job) -> str:
    """Return why a job waits, if that is a dependency or its urgency: empty if it is neither."""
    if job.state is JobState.DEPEND:
        return _depends(job.dependencies)
    return "held: its urgency is 0" if job.urgency == 0 else ""


def _depends(dependencies: Sequence[str]) -> str:
    jobs, begins = [], []
    for kind, _, value in (each.partition("=") for each in dependencies):
        if kind == "begin-time":
            begins.append(f"begins at {_clock(float(value))}")
            continue
        with contextlib.suppress(JobIdError):
            value = written(jobid.parse(value))  # noqa: PLW2901 - a dump has it as a number
        jobs.append(f"{kind}={value}" if value else kind)
    on = [f"depends on {', '.join(jobs) or 'other jobs'}"] if jobs or not begins else []
    return ", ".join([*on, *begins])


def _clock(moment: float) -> str:
    """Return a time of day, with the day where that is not today."""
    then, now = time.localtime(moment), time.localtime()
    return time.strftime("%H:%M:%S" if then[:3] == now[:3] else "%Y-%m-%d %H:%M:%S", then)


def _stopped(job: Job, queues: Sequence[QueueStatus]) -> str:
    """Return that the job's queue is stopped, and what starts it; empty if it is not stopped."""
    stopped = next((each for each in queues if each.name in {job.queue, ""} and not each.started), None)
    if stopped is None:
        return ""
    which = f"queue {stopped.name}" if stopped.name else "the queue"
    reason = f": {stopped.stop_reason}" if stopped.stop_reason else ""
    option = f" -q {stopped.name}" if stopped.name else ""
    return f"{which} is stopped{reason}; `minicluster shell NAME -- flux queue start{option}` starts it"


def _amid(job: Job, around: QueueContext) -> str:
    """Return which resources a job waits for, or which job is before it."""
    there, gpus = around.resources, around.gpus(job)
    if never := next(_lacks(job, gpus, there.all), None):
        noun, needed, most = never
        return f"asks for {_counted(needed, noun)}, there will never be more than {most}"
    if down := next(_lacks(job, gpus, there.up), None):
        noun, needed, up = down
        most = {"node": there.all.nodes, "core": there.all.cores, "GPU": there.all.gpus}[noun]
        more = _drained(there) or f"; up to {most} with `minicluster scale`"
        return f"needs {_counted(needed, noun)}, {up} {'is' if up == 1 else 'are'} up{more}"
    annotation = job.annotations.get("sched")
    reason = annotation.get("reason_pending") if isinstance(annotation, dict) else None
    if reason:
        return str(reason)
    free = f"{there.free.cores} of {there.up.cores} cores on {_counted(there.up.nodes, 'node')} are free"
    short = next(_lacks(job, gpus, there.free), None)
    first = around.first() if short is None and there.free.cores else None
    if first not in {None, job.id}:
        return f"behind {written(first or 0)}, though {free}{_drained(there)}"
    return f"waits for resources: {_shortage(short, there) or free}{_drained(there)}"


def _lacks(job: Job, gpus: int, part: ResourceSubset) -> Iterator[tuple[str, int, int]]:
    """Yield what a job needs more of than a part has: a noun, how many it needs, how many there are."""
    for noun, needed, found in (
        ("node", job.nnodes, part.nodes),
        ("core", job.ncores, part.cores),
        ("GPU", gpus, part.gpus),
    ):
        if needed > found:
            yield noun, needed, found


def _shortage(short: tuple[str, int, int] | None, there: Resources) -> str:
    """Return which of the resources that are up are too few; empty if no core is free, or none is short."""
    if short is None or not there.free.cores:
        return ""
    noun, needed, free = short
    if noun == "node":
        return f"needs {_counted(needed, noun)}, {free} of {there.up.nodes} have free cores"
    up = there.up.cores if noun == "core" else there.up.gpus
    return f"needs {_counted(needed, noun)}, {free} of {up} are free"


def _drained(there: Resources) -> str:
    """Return how many nodes are drained, of those that have a broker; empty without any."""
    count = len(set(there.drained.ranks) - set(there.offline.ranks))
    return f"; {_counted(count, 'node')} {'is' if count == 1 else 'are'} drained" if count else ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _eta(job: Job) -> str:
    """Return in how long the queue policy means to start a job; empty if it has no plan for it."""
    annotation = job.annotations.get("sched")
    start = annotation.get("t_estimate") if isinstance(annotation, dict) else None
    if not isinstance(start, (int, float)) or not math.isfinite(start):
        return ""
    left = start - time.time()
    return f"; eta {age(left) if left > 0 else 'now'}"


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
