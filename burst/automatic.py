"""Bursts that the service asks for by itself, where a document does not ask for plans only."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from burst.errors import LeadAway
from burst.lifecycle.records import label_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from burst.clusters.records import BurstingCluster
    from burst.planner import BurstPlanner, ClusterPlan

_log = logging.getLogger(__name__)


async def plan_all(planner: BurstPlanner, clusters: Iterable[BurstingCluster]) -> list[ClusterPlan]:
    """Plan for each MiniCluster, and ask for what is planned where that is not for show only.

    A lead that does not answer is passed over. Raises DatabaseError.
    """
    plans = await asyncio.gather(*(_planned(planner, each) for each in clusters))
    return [each for each in plans if each is not None]


async def _planned(planner: BurstPlanner, cluster: BurstingCluster) -> ClusterPlan | None:
    try:
        found = await planner.planned(cluster)
    except LeadAway as error:
        _log.info("%s: nothing is planned: %s", cluster.name, error)
        return None
    if found.plan.bursts and not found.policy.is_dry:
        for burst in await planner.apply(found):
            _log.info("%s: burst %s is asked for", cluster.name, label_of(burst))
    return found
