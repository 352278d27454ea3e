"""Why a job waits, or how it ended, in words."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from broker_config.formats import durations
from minicluster.instance.records import JobResult, JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.instance.records import Job, QueueStatus, Resources


def why(job: Job, resources: Resources, queues: Sequence[QueueStatus]) -> str:
    """Return what a pending job waits for."""
    if job.state is JobState.DEPEND:
        return f"depends on {', '.join(job.dependencies) or 'other jobs'}"
    if job.urgency == 0:
        return "held: its urgency is 0"
    stopped = next((each for each in queues if each.name in {job.queue, ""} and not each.started), None)
    if stopped is not None:
        which = f"queue {stopped.name}" if stopped.name else "the queue"
        return f"{which} is stopped" + (f": {stopped.stop_reason}" if stopped.stop_reason else "")
    greatest = resources.all.nodes
    if job.nnodes > greatest:
        return f"asks for {job.nnodes} nodes, there will never be more than {greatest}"
    annotation = job.annotations.get("sched")
    reason = annotation.get("reason_pending") if isinstance(annotation, dict) else None
    free, up = resources.free.cores, resources.up
    nodes = "1 node" if up.nodes == 1 else f"{up.nodes} nodes"
    return str(reason or f"waits for resources: {free} of {up.cores} cores on {nodes} are free")


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
