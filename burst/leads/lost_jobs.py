"""What became of a burst's jobs, once nothing of them runs in its slot any more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from broker_config.formats.jobid import f58
from burst.leads.restartable_jobs import RestartableSlotJobs
from burst.lifecycle.records import BEGUN_ANEW, LOST
from minicluster.save_restore.losses import Loss, restart_lost

if TYPE_CHECKING:
    from burst.leads.slot_ranks import SlotRanks
    from minicluster.instance.port import Instance


def conclude(
    instance: Instance, ranks: SlotRanks, home: str, jobs: tuple[int, ...], since: float
) -> dict[int, str]:
    """Return what became of jobs; those that were lost with ranks of a slot begin anew in queue `home`.

    Losses before `since` (seconds since 1970) were of another burst. Raises InstanceError.
    """
    there = RestartableSlotJobs(instance, home)
    # Who ends a burst in order drains it before: what was lost is what Flux calls a node failure.
    losses = {ranks.first + rank: Loss(since, math.inf) for rank in range(ranks.size)}
    outcome = restart_lost(there, losses)
    found = {job: f"{LOST}: {why}" for job, why in outcome.lost}
    found |= {job: f"{BEGUN_ANEW} as {f58(copy)}" for job, copy in outcome.restarted}
    return {job: found.get(job) or there.outcome(job) for job in jobs}
