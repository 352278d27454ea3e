"""The results of a policy's actions in an instance: jobs that begin, and orders to running jobs."""

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
    """For the size at which it begins."""
    allocation: Allocation


class GuestBegun(NamedTuple):
    """A job that begins on the cores of a running one."""

    queued: QueuedJob
    request: NodeRequest
    allocation: Allocation
    host: int
    fraction: float
    """Of the time of its host's cores: what it may use."""


class QuotaOrder(NamedTuple):
    """A quota of a running job that is another one now; 1: none."""

    job: int
    fraction: float


class GrowOrder(NamedTuple):
    """An order to grow into these resources, which are reserved for the job."""

    job: int
    more: Allocation


class ShrinkOrder(NamedTuple):
    """An order to give up a number of workers."""

    job: int
    workers: int


class Misfit(NamedTuple):
    """A job that the policy starts, but that does not fit."""

    job: int
    size: int
    defect: str = ""
    """What is wrong with the placement, if that is why."""

    def described(self, policy: str, job: str) -> str:
        """Return this in words, for the log of an engine: the job stays queued."""
        return self.defect or f"queue policy {policy} starts job {job}, for which there is no room"


def record(
    queued: QueuedJob,
    request: Request,
    now: float,
    pause: float = 0.0,
    left: float = 1.0,
    *,
    heeds: bool = False,
) -> RunningJob:
    """Return the record for policies of a job that runs from now on.

    It computes after `pause` seconds; the share `left` of its work is left. `heeds` is whether it accepts
    orders.
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
        consent=queued.consent,
    )
