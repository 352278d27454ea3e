"""Annotations of pending jobs, and answers to the RPC `minicluster-sched.pending`."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from broker_config.formats.jobid import f58, parse
from minicluster.flux_scheduler.errors import WrongArgument
from minicluster.flux_scheduler.reasons import Reasons

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_config.formats.jobspec import RequestedResources
    from minicluster.flux_scheduler.scheduling import Scheduling
    from queue_policies.records import QueuedJob

ANNOTATED = 8
"""How many of the queue's first jobs get an annotation why they wait."""
LISTED = 100
"""How many jobs are in an answer without a limit."""
NOTHING: dict[str, Any] = {"t_estimate": None, "reason_pending": None}
"""An annotation that removes the former one."""


def annotations_of(scheduling: Scheduling) -> dict[int, dict[str, Any]]:
    """Return the annotations: why the first jobs wait, and the expected starts that are known."""
    reasons, starts = Reasons(scheduling), _starts(scheduling)
    first = {job.id: job for job in islice(scheduling.queue, ANNOTATED)}
    return {
        job: {
            "t_estimate": starts.get(job),
            "reason_pending": reasons.of(first[job]) if job in first else None,
        }
        for job in (*first, *(starts.keys() - first.keys()))
    }


def elastic_of(job: QueuedJob) -> dict[str, Any]:
    """Return the annotation of an elastic job with its sizes, in workers; nothing for a rigid one."""
    if job.elastic is None:
        return {}
    request = cast("RequestedResources", job.request)
    most = job.elastic.max // (request.size // request.workers)
    return {"elastic": {"min": request.workers, "max": most, "malleable": job.elastic.malleable}}


def _starts(scheduling: Scheduling) -> dict[int, float]:
    """Return the expected starts: the policy's reservations, and the first job's by others' time limits."""
    head = next(iter(scheduling.queue), None)
    at = None if head is None else soonest(scheduling, head)
    return scheduling.expected | ({head.id: at} if head is not None and at is not None else {})


def soonest(scheduling: Scheduling, job: QueuedJob) -> float | None:
    """Return when there is room for the job if running jobs use their whole limits; None: not known."""
    trial = scheduling.pool.sketch()
    for other in scheduling.running.by_end():
        if other.end == math.inf:
            return None
        trial.give(other.id)
        if trial.free >= job.request.size and trial.fits(job.request):
            return other.end
    return None


def pending(scheduling: Scheduling, asked: Any) -> dict[str, Any]:
    """Return which jobs wait and why. `asked` is `{}`, `{"limit": 10}` or `{"id": "ƒ…"}`.

    Raises WrongArgument.
    """
    reasons, starts = Reasons(scheduling), _starts(scheduling)
    jobs = [
        _line(ahead, job, reasons.of(job), starts.get(job.id)) for ahead, job in _chosen(scheduling, asked)
    ]
    return {
        "policy": scheduling.policy.name,
        "defect": scheduling.defect,
        "free": scheduling.pool.free,
        "total": scheduling.pool.total,
        "running": len(scheduling.running),
        "pending": len(scheduling.queue),
        "jobs": jobs,
    }


def _chosen(scheduling: Scheduling, asked: Any) -> Iterator[tuple[int, QueuedJob]]:
    """Return the requested jobs, each with the number of jobs before it."""
    if not isinstance(asked, dict) or asked.keys() - {"id", "limit"}:
        raise WrongArgument(f"{asked!r} asks for nothing: {{}}, a limit or an id is right")
    numbered = enumerate(scheduling.queue)
    if "id" in asked:
        wanted = _jobid(asked["id"])
        return ((ahead, job) for ahead, job in numbered if job.id == wanted)
    limit = asked.get("limit", LISTED)
    if not isinstance(limit, int) or limit < 0:
        raise WrongArgument(f"limit is {limit!r}: a number of jobs is right")
    return islice(numbered, limit)


def _jobid(given: Any) -> int:
    try:
        return given if isinstance(given, int) else parse(given)
    except (ValueError, TypeError, AttributeError):
        raise WrongArgument(f"id is {given!r}, which is no job id") from None


def _line(ahead: int, job: QueuedJob, reason: str, start: float | None) -> dict[str, Any]:
    least = job.request.size
    return {
        "id": f58(job.id),
        "ahead": ahead,
        "priority": job.priority,
        "cores": least,
        "most": job.elastic.max if job.elastic else least,
        "reason": reason,
        "t_estimate": start,
    }
