"""Which burst a job is in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from broker_config.formats.burst_names import BURST, DEFAULT_QUEUE

if TYPE_CHECKING:
    from minicluster.instance.records import BurstSummary
    from restful.identity.principal import Principal
    from restful.jobs.jobs import JobService

_NO_SLOTS = frozenset({"", DEFAULT_QUEUE, BURST})
"""Queues that are no slot's, for certain."""


async def burst_of(jobs: JobService, principal: Principal, cluster: str, text: str) -> BurstSummary | None:
    """Return the open burst in whose queue a job is; None: in none. Raises HttpProblem "not-found"."""
    job = await jobs.visible(principal, cluster, text)
    if job.record.queue in _NO_SLOTS or job.cluster.gone:
        return None
    found = await asyncio.to_thread(job.cluster.spec.bursts)
    return next((each for each in found if each.slot == job.record.queue), None)
