"""What follows from a policy's actions in an instance: jobs begin, and running ones are ordered to resize."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queue_policies.records import RunningJob

if TYPE_CHECKING:
    from queue_policies.nodes.records import Allocation, NodeRequest
    from queue_policies.records import QueuedJob, Request


class Begun(NamedTuple):
    """A job that begins with these resources."""

    queued: QueuedJob
    request: NodeRequest
    """For the size that it has."""
    allocation: Allocation


class GrowOrder(NamedTuple):
    """A running job is to grow into these resources, which are held for it."""

    job: int
    more: Allocation


class ShrinkOrder(NamedTuple):
    """A running job is to give up so many workers."""

    job: int
    workers: int


class Misfit(NamedTuple):
    """A job was to start for which there is no room: the policy counted wrongly."""

    job: int
    size: int


def record(
    queued: QueuedJob,
    request: Request,
    now: float,
    pause: float = 0.0,
    left: float = 1.0,
    *,
    heeds: bool = False,
) -> RunningJob:
    """Return what policies see of a job that runs from now on.

    It computes after a pause, for the share of its work that is `left`, and heeds orders when its program
    has registered.
    """
    return RunningJob(
        queued.id,
        request,
        now,
        now + queued.limit,
        queued.elastic,
        queued.priority,
        queued.submitted,
        queued.user,
        now + pause,
        heeds,
        None if queued.estimate is None else left,
        now + pause,
        queued.estimate,
    )
