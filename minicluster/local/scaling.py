"""Scaling while jobs run. Down: drain, wait, restart jobs that cannot finish, leave. Up: join, undrain."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from minicluster.local import restarts
from minicluster.local.brokers import POLL_INTERVAL

if TYPE_CHECKING:
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job
    from minicluster.local.brokers import Brokers
    from minicluster.local.cluster import LocalCluster

Notice = Callable[[str], None]
GRACE_PERIOD = 5.0
"""Seconds between SIGTERM and SIGKILL."""
REASON = "leaving: minicluster scale"


async def shrink(
    brokers: Brokers, cluster: LocalCluster, ranks: range, timeout: float, notice: Notice
) -> None:
    """Let these ranks, the highest, leave once their jobs ended, or were restarted elsewhere."""
    notice(f"draining {_ranks(ranks)}: no new work goes there, running jobs have {timeout:g} s")
    await brokers.call(lambda instance: instance.nodes.drain(_idset(ranks), REASON))
    await finish_or_restart(brokers, set(ranks), timeout, notice)
    await cluster.leave(ranks, GRACE_PERIOD)
    notice(f"{_ranks(ranks)} left")


async def grow(brokers: Brokers, cluster: LocalCluster, ranks: range, notice: Notice) -> None:
    """Start the brokers of these ranks, and undrain them."""
    notice(f"starting {_ranks(ranks)}")
    cluster.start(ranks)
    await brokers.online(ranks)
    drained = await brokers.call(lambda instance: set(instance.nodes.resources().drained.ranks) & set(ranks))
    if drained:
        await brokers.call(lambda instance: instance.nodes.undrain(",".join(map(str, sorted(drained)))))
    notice(f"{_ranks(ranks)} joined")


async def give_work_again(brokers: Brokers) -> None:
    """Undrain brokers that had left before the cluster was saved: a dump remembers that they were drained."""
    await brokers.call(_give_work_again)


def _give_work_again(instance: Instance) -> None:
    for ranks, entry in instance.links.rpc("resource.status", {})["drain"].items():
        if entry["reason"] == REASON:
            instance.nodes.undrain(ranks)


async def finish_or_restart(
    brokers: Brokers, ranks: set[int], timeout: float, notice: Notice, outcome: str = "was restarted as"
) -> None:
    """Wait for the jobs on these ranks; those still there after `timeout` seconds are restarted.

    Each of these is reported by its id, `outcome`, and its new id.
    """
    end = time.monotonic() + timeout
    reported = -1
    while jobs := await brokers.call(lambda instance: jobs_on(instance, ranks)):
        if time.monotonic() > end:
            break
        if len(jobs) != reported:
            reported = len(jobs)
            notice(f"waiting for {reported} running job{'s' if reported > 1 else ''}")
        await asyncio.sleep(POLL_INTERVAL)
    from broker_config.formats.jobid import f58

    stuck = [job.id for job in jobs]
    await brokers.call(
        lambda instance: restarts.restart(
            instance,
            stuck,
            "its broker leaves",
            lambda moved: notice(f"job {f58(moved.old)} {outcome} {f58(moved.new)}"),
        )
    )


def jobs_on(instance: Instance, ranks: set[int]) -> list[Job]:
    """Return the jobs that hold resources on any of these ranks."""
    from broker_config.formats import idset
    from minicluster.instance.records import JobFilter, JobState

    running = instance.jobs.find(JobFilter(states=JobState.RUNNING), limit=0)
    return [job for job in running if job.ranks and ranks & set(idset.decode(job.ranks))]


def _idset(ranks: range) -> str:
    return f"{ranks[0]}-{ranks[-1]}" if len(ranks) > 1 else str(ranks[0])


def _ranks(ranks: range) -> str:
    return f"ranks {_idset(ranks)}" if len(ranks) > 1 else f"rank {ranks[0]}"
