"""Bringing the brokers of a persistent cluster up, with notice of those that are missing."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from minicluster.local.errors import BringUpFailed
from minicluster.local.scaling import give_work_again

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.local.brokers import Brokers
    from minicluster.local.cluster import LocalCluster
    from minicluster.local.control import Message

PROGRESS_TIMEOUT = 10.0
"""Seconds after which the brokers that are missing are named."""


async def bring_up(
    cluster: LocalCluster,
    brokers: Brokers,
    size: int,
    report: Callable[[Message], None],
    *,
    starts_queues: bool,
) -> None:
    """Start so many brokers, and wait until they are online. Raises BringUpFailed.

    Where the lead's start script starts queues, also until it has.
    """
    cluster.start(range(size))
    ready = asyncio.ensure_future(brokers.online(range(size)))
    last, deadline = -1, time.monotonic() + PROGRESS_TIMEOUT
    while not ready.done():
        if cluster.lead.ended:
            ready.cancel()
            words = "".join(f"\n  {line}" for line in cluster.log_tail(0))
            raise BringUpFailed(f"the cluster did not come up: the lead broker ended{words}")
        joined = cluster.joined(size)
        if joined != last:
            last = joined
            report({"joined": joined, "size": size})
        if time.monotonic() > deadline:
            deadline += PROGRESS_TIMEOUT
            report({"notice": _who_is_missing(cluster, size)})
        await asyncio.sleep(0.02)
    ready.result()
    await give_work_again(brokers)
    if starts_queues:
        await cluster.lead.main_started()


def _who_is_missing(cluster: LocalCluster, size: int) -> str:
    missing = [rank for rank in range(size) if not cluster.directory.socket(rank).exists()]
    if not missing:
        return "still waiting for the lead to see all brokers"
    words = cluster.log_tail(missing[0]) or ["it has said nothing"]
    return f"still waiting for {len(missing)} brokers; rank {missing[0]} says: {words[-1]}"
