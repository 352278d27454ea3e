"""Orders by hand: a user resizes a running job, in place of the policy.

Such an order goes the way of a policy's. It is given in full or not at all. When it is done, the policy
leaves the job alone for a while (`program.BY_HAND_DELAY`); then it may resize the job again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queue_policies.errors import OrderRefused
from queue_policies.records import Grow, Shrink

if TYPE_CHECKING:
    from queue_policies.nodes.records import NodeRequest
    from queue_policies.orders.records import GrowOrder, ShrinkOrder
    from queue_policies.orders.resizing import Resizing
    from queue_policies.records import RunningJob


RIGID = "is not malleable: it was not submitted with user.elastic.malleable=true"


def order(resizing: Resizing, job: RunningJob, workers: int, obstacle: str) -> GrowOrder | ShrinkOrder | None:
    """Return the order by which a job gets this number of workers; None: it has that many.

    `obstacle` is why the job's program takes no orders, empty where it does. Raises OrderRefused.
    """
    elastic = job.elastic
    if elastic is None or not elastic.malleable:
        raise OrderRefused(RIGID)
    request = cast("NodeRequest", job.request)
    unit = request.size // request.workers
    least, most = elastic.min // unit, elastic.max // unit
    if not least <= workers <= most:
        raise OrderRefused(f"runs with {least} to {most} workers here, not with {workers}")
    if job.id in resizing.book:
        raise OrderRefused("has another order under way")
    if workers == request.workers:
        return None
    if obstacle:
        raise OrderRefused(f"takes no orders: {obstacle}")
    if workers < request.workers:
        return resizing.shrink(Shrink(job.id, workers * unit))
    reach = resizing.room.reach(job.id, request, workers)
    if reach < workers:
        raise OrderRefused(f"has no room for {workers} workers: what is free now allows {reach}")
    return resizing.grow(Grow(job.id, workers * unit))
