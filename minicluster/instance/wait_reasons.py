"""Why a pending job waits, in a sentence, from a listing and what there is around the job."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_config.formats import jobid, jobspec
from broker_config.formats.burst_names import BURST
from broker_config.formats.errors import JobIdError
from minicluster.instance.errors import JobNotFound
from minicluster.instance.records import JobFilter, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from minicluster.instance.port import JobQueues, Jobs, Nodes
    from minicluster.instance.records import (
        BurstSummary,
        Job,
        QueueResources,
        QueueStatus,
        Resources,
        ResourceSubset,
    )

MAX_FIRST = 100
"""Jobs among which the first one is looked for that is neither held nor in a stopped queue."""
MAX_COMING = 2
"""Bursts that are being made, of which a job that waits for one is shown so many."""
_COMING = frozenset({"requested", "planned", "provisioning", "joining"})
"""States of bursts that have no job to run yet."""
MAX_JOBSPECS = 50
"""Jobs of one listing whose GPUs are looked up, a request each: listings do not have them."""


def _seconds(count: float) -> str:
    return f"{max(0.0, count):.0f} s"


@dataclass(frozen=True, slots=True)
class Wording:
    """How jobs and times are written, and what a reader can do about a reason."""

    job: Callable[[int], str] = jobid.f58
    """Writes a job's id."""
    duration: Callable[[float], str] = _seconds
    """Writes a number of seconds."""
    start: Callable[[str], str] = lambda _queue: ""
    """Returns what starts a queue."""
    grow: Callable[[int], str] = lambda _most: ""
    """Returns how more nodes, cores or GPUs are had, at most so many."""
    burst: str = ""
    """What a reader can do who waits for a burst, and none is coming."""


PLAIN = Wording()


@dataclass(frozen=True, slots=True)
class QueueContext:
    """What pending jobs wait amid."""

    resources: QueueResources
    queues: Sequence[QueueStatus]
    first: Callable[[], int | None] = lambda: None
    """Returns the id of the job that is first among those that could start; None: it is not known."""
    gpus: Callable[[Job], int] = lambda _job: 0
    """Returns how many GPUs a job needs, where that is known."""
    wording: Wording = PLAIN
    bursts: Callable[[], Sequence[BurstSummary]] = tuple
    """Returns the open bursts."""


def context(
    jobs: Jobs,
    queues: JobQueues,
    nodes: Nodes,
    wording: Wording = PLAIN,
    bursts: Callable[[], Sequence[BurstSummary]] = tuple,
) -> QueueContext:
    """Return what pending jobs wait amid. What few of them need is asked when it is needed, and once."""
    resources, found = nodes.by_queue(), queues.all()
    stopped = {each.name for each in found if not each.started}
    others = {*stopped, *resources.bursts}
    has_gpus = any(each.all.gpus for each in (resources.ordinary, *resources.bursts.values()))
    left = MAX_JOBSPECS if has_gpus else 0

    @functools.cache
    def first() -> int | None:
        listed = jobs.find(JobFilter(states=JobState.SCHED), limit=MAX_FIRST)
        return next((job.id for job in listed if job.urgency and job.queue not in others), None)

    def gpus(job: Job) -> int:
        nonlocal left
        if not left:
            return 0
        left -= 1
        try:
            asked = jobspec.read(jobs.jobspec(job.id)).resources
        except JobNotFound:  # it has gone meanwhile
            return 0
        return asked.slots_in_all * asked.gpus

    return QueueContext(resources, found, first, gpus, wording, functools.cache(bursts))


def why(job: Job, around: QueueContext) -> str:
    """Return what a pending job waits for."""
    wording = around.wording
    return (
        waits_by_itself(job, wording)
        or _stopped(job, around)
        or f"{_amid(job, around)}{_eta(job, wording)}{where(job, around)}"
    )


def where(job: Job, around: QueueContext) -> str:
    """Return which burst runs a job that has started, or is in a slot's queue; empty: none."""
    found = _burst_in(job.queue, around)
    return f"; burst {found.id} of {found.provider}" if found is not None else ""


def _burst_in(queue: str, around: QueueContext) -> BurstSummary | None:
    """Return the burst that has the slot of a queue."""
    if queue == BURST or queue not in around.resources.bursts:
        return None
    return next((each for each in around.bursts() if each.slot == queue), None)


def waits_by_itself(job: Job, wording: Wording = PLAIN) -> str:
    """Return why a job waits, if that is a dependency or its urgency: empty if it is neither."""
    if job.state is JobState.DEPEND:
        return _depends(job.dependencies, wording)
    return "held: its urgency is 0" if job.urgency == 0 else ""


def _depends(dependencies: Sequence[str], wording: Wording) -> str:
    jobs, begins = [], []
    for kind, _, value in (each.partition("=") for each in dependencies):
        if kind == "begin-time":
            begins.append(f"begins at {_clock(float(value))}")
            continue
        with contextlib.suppress(JobIdError):
            value = wording.job(jobid.parse(value))  # noqa: PLW2901 - a dump has it as a number
        jobs.append(f"{kind}={value}" if value else kind)
    on = [f"depends on {', '.join(jobs) or 'other jobs'}"] if jobs or not begins else []
    return ", ".join([*on, *begins])


def _clock(moment: float) -> str:
    """Return a time of day, with the day where that is not today."""
    then, now = time.localtime(moment), time.localtime()
    return time.strftime("%H:%M:%S" if then[:3] == now[:3] else "%Y-%m-%d %H:%M:%S", then)


def _stopped(job: Job, around: QueueContext) -> str:
    """Return that the job's queue is stopped, and what starts it; empty if it is not stopped."""
    stopped = next(
        (each for each in around.queues if each.name in {job.queue, ""} and not each.started), None
    )
    if stopped is None:
        return ""
    if stopped.name == BURST and not stopped.stop_reason:
        return f"waits for nodes of a burst{_coming(around)}"
    found = _burst_in(stopped.name, around)
    if found is not None and found.state in _COMING:
        return f"waits for burst {found.id} of {found.provider}, which is {found.state}"
    which = f"queue {stopped.name}" if stopped.name else "the queue"
    reason = f": {stopped.stop_reason}" if stopped.stop_reason else ""
    if found is not None:
        return f"{which} is stopped{reason}; burst {found.id} of {found.provider} is {found.state}"
    return f"{which} is stopped{reason}{around.wording.start(stopped.name)}"


def _coming(around: QueueContext) -> str:
    """Return which bursts are being made, or else what a reader can do."""
    coming = [each for each in around.bursts() if each.state in _COMING]
    if not coming:
        return around.wording.burst
    listed = [f"{each.id} of {each.provider} for {each.slot} is {each.state}" for each in coming]
    more = f", and {len(listed) - MAX_COMING} more" if len(listed) > MAX_COMING else ""
    return f": {', '.join(listed[:MAX_COMING])}{more}"


def _amid(job: Job, around: QueueContext) -> str:
    """Return which resources a job waits for, or which job is before it."""
    there, gpus = around.resources.of(job.queue), around.gpus(job)
    is_ordinary = job.queue not in around.resources.bursts
    if never := next(_lacks(job, gpus, there.all), None):
        noun, needed, most = never
        return f"asks for {_counted(needed, noun)}, there will never be more than {most}"
    if down := next(_lacks(job, gpus, there.up), None):
        noun, needed, up = down
        most = {"node": there.all.nodes, "core": there.all.cores, "GPU": there.all.gpus}[noun]
        more = _drained(there) or (around.wording.grow(most) if is_ordinary else "")
        return f"needs {_counted(needed, noun)}, {up} {'is' if up == 1 else 'are'} up{more}"
    annotation = job.annotations.get("sched")
    reason = annotation.get("reason_pending") if isinstance(annotation, dict) else None
    if reason:
        return str(reason)
    free = f"{there.free.cores} of {there.up.cores} cores on {_counted(there.up.nodes, 'node')} are free"
    short = next(_lacks(job, gpus, there.free), None)
    first = around.first() if is_ordinary and short is None and there.free.cores else None
    if first not in {None, job.id}:
        return f"behind {around.wording.job(first or 0)}, though {free}{_drained(there)}"
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


def _eta(job: Job, wording: Wording) -> str:
    """Return in how long the queue policy means to start a job; empty if it has no plan for it."""
    annotation = job.annotations.get("sched")
    start = annotation.get("t_estimate") if isinstance(annotation, dict) else None
    if not isinstance(start, (int, float)) or not math.isfinite(start):
        return ""
    left = start - time.time()
    return f"; eta {wording.duration(left) if left > 0 else 'now'}"
