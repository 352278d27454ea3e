"""How many jobs that have not ended a cluster has, by queue and by the nodes that they run on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import case, func, select

from broker_config.formats.job_states import JobState
from restful.store.jobs import ACTIVE_STATES, JOBS

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

RUNNING = (int(JobState.RUN), int(JobState.CLEANUP))
"""They have nodes."""


class QueueDepth(NamedTuple):
    """The jobs of a queue that have not ended."""

    pending: int = 0
    running: int = 0


async def by_queue(connection: AsyncConnection, cluster: str, owner: str | None) -> dict[str, QueueDepth]:
    """Return numbers by the queue's name; of one user's jobs, or of everybody's."""
    running = func.sum(case((JOBS.c.status.in_(RUNNING), 1), else_=0))
    found = select(JOBS.c.queue, func.count(), running).where(_active(cluster, owner)).group_by(JOBS.c.queue)
    return {
        queue: QueueDepth(total - at_work, at_work)
        for queue, total, at_work in await connection.execute(found)
    }


async def by_nodelist(connection: AsyncConnection, cluster: str, owner: str | None) -> list[tuple[str, int]]:
    """Return hostlists (RFC 29), and how many jobs run on exactly these nodes."""
    which = _active(cluster, owner) & JOBS.c.status.in_(RUNNING) & (JOBS.c.nodelist != "")
    found = select(JOBS.c.nodelist, func.count()).where(which).group_by(JOBS.c.nodelist)
    return [(nodelist, count) for nodelist, count in await connection.execute(found)]


def _active(cluster: str, owner: str | None) -> ColumnElement[bool]:
    which = (JOBS.c.cluster == cluster) & JOBS.c.status.in_(ACTIVE_STATES)
    return which if owner is None else which & (JOBS.c.owner == owner)
