"""The RPC `minicluster-sched.resize`, an order to a job by hand: `{"id": 123, "workers": 2, "wait": true}`.

The answer has `before`, the number of workers until now. It comes when the order is done; at once if `wait`
is false.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from minicluster.flux_scheduler.errors import WrongArgument
from minicluster.malleable.speaker import NOT_YET
from queue_policies.errors import OrderRefused
from queue_policies.orders import by_hand

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_config.formats.jobspec import RequestedResources
    from minicluster.flux_scheduler.companions import Companions
    from minicluster.flux_scheduler.scheduling import Scheduling


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """What was asked for."""

    job: int
    workers: int
    wait: bool


def parse(asked: Any) -> OrderRequest:
    """Return the request of a payload. Raises WrongArgument."""
    kinds = {"id": int, "workers": int, "wait": bool}
    if not isinstance(asked, dict) or {key: type(value) for key, value in asked.items()} != kinds:
        raise WrongArgument(f'{asked!r} is no order: {{"id": 123, "workers": 2, "wait": true}} is right')
    return OrderRequest(asked["id"], asked["workers"], asked["wait"])


def order(
    scheduling: Scheduling,
    companions: Companions | None,
    job: int,
    workers: int,
    on_end: Callable[[str], None],
) -> int:
    """Order a running job to have this number of workers; return how many it has.

    `on_end` is called with why the order failed, or an empty text when it is done, at once if there is
    nothing to do. Raises OrderRefused.
    """
    if job not in scheduling.running or scheduling.running[job].waits:
        raise OrderRefused("is not running")
    record = scheduling.running[job]
    obstacle = NOT_YET if companions is None else companions.obstacle(job)
    given = by_hand.order(scheduling.resizing, record, workers, obstacle)
    if companions is None or given is None:
        on_end("")
    else:
        companions.order(given, on_end)
    return cast("RequestedResources", record.request).workers


def serve(
    asked: OrderRequest,
    resize: Callable[[int, int, Callable[[str], None]], int],
    respond: Callable[[dict[str, int]], object],
    refuse: Callable[[int, str], object],
) -> None:
    """Give the order by `resize`, and answer with one call of `respond` or `refuse`. Raises OrderRefused."""
    ends: list[str] = []
    waiting: list[int] = []

    def end(failure: str) -> None:
        ends.append(failure)
        if waiting:
            answer(waiting[0])

    def answer(before: int) -> None:
        if ends[0]:
            refuse(errno.ECANCELED, ends[0])
        else:
            respond({"before": before})

    before = resize(asked.job, asked.workers, end)
    if not asked.wait:
        respond({"before": before})
    elif ends:
        answer(before)
    else:
        waiting.append(before)
