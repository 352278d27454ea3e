"""What listings show of elastic jobs: their sizes, orders under way, and companions on real Flux."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minicluster.instance.records import Job


def information(job: Job) -> str:
    """Return whose companion a job is, or to what size it is being resized; else an empty text."""
    base = companion_of(job)
    if base is not None:
        return f"companion of {base}"
    user = _part(job.annotations, "user")
    workers, target = user.get("workers"), user.get("target")
    if job.result or not isinstance(workers, int) or not isinstance(target, int):
        return ""
    return f"{'shrinking' if target < workers else 'growing'} {workers} → {target}"


def companion_of(job: Job) -> str | None:
    """Return the id of the job of which this one is a worker; None for a job of its own."""
    base = _part(job.annotations, "sched").get("companion_of")
    return base if isinstance(base, str) else None


def sizes(job: Job) -> dict[str, Any]:
    """Return the least and greatest number of workers, and whether it changes while the job runs.

    They are None for a rigid job, and before a job runs.
    """
    elastic = _part(_part(job.annotations, "sched"), "elastic")
    return {key: elastic.get(key) for key in ("min", "max", "malleable")}


def _part(annotations: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = annotations.get(name)
    return part if isinstance(part, Mapping) else {}
