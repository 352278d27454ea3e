"""Quotas against what the database has: within the transaction that writes a reservation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sqlalchemy import case, func, select

from restful.jobs import quota
from restful.jobs.quota import Quota, Use
from restful.store import quotas, usage
from restful.store.clusters import CLUSTERS
from restful.store.jobs import ACTIVE_STATES, JOBS
from restful.store.quotas import EVERYBODY
from restful.store.request_keys import PENDING, REQUEST_KEYS

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.jobs.quota import Reservation
    from restful.settings import JobLimits


async def check(
    connection: AsyncConnection,
    user: str,
    cluster: str,
    job_of: Reservation,
    limits: JobLimits,
    now: float,
) -> None:
    """Raise HttpProblem "quota" if one more job would exceed a quota of a user at a cluster."""
    applying = await quotas.applying(connection, user, cluster)
    if all(each.jobs is None for _, each in applying):
        applying.append((cluster, Quota(jobs=limits.active)))
    for at, each in applying:
        where = None if at == EVERYBODY else cluster
        quota.check(each, await use(connection, user, where, now - each.window), job_of)


async def use(connection: AsyncConnection, user: str, cluster: str | None, since: float) -> Use:
    """Return what a user's jobs have, at one cluster or at all; spent is what they had since a time."""
    of_jobs = await _sums(
        connection, _at(JOBS.c.cluster, cluster) & (JOBS.c.owner == user) & (JOBS.c.request != "")
        & JOBS.c.status.in_(ACTIVE_STATES), JOBS.c.nnodes, JOBS.c.duration,
    )  # fmt: skip
    of_requests = await _sums(
        connection, _at(REQUEST_KEYS.c.cluster, cluster) & (REQUEST_KEYS.c.user == user)
        & (REQUEST_KEYS.c.state == PENDING), REQUEST_KEYS.c.nodes, REQUEST_KEYS.c.seconds,
    )  # fmt: skip
    jobs, nodes, committed = (sum(each) for each in zip(of_jobs, of_requests, strict=True))
    return Use(int(jobs), int(nodes), committed, await usage.spent(connection, user, cluster, since))


def _at(column: ColumnElement[str], cluster: str | None) -> ColumnElement[bool]:
    return column.in_(select(CLUSTERS.c.id)) if cluster is None else column == cluster


async def _sums(
    connection: AsyncConnection,
    which: ColumnElement[bool],
    nodes: ColumnElement[int],
    seconds: ColumnElement[float],
) -> tuple[int, int, float]:
    """Return how many there are, their nodes, and their node-seconds: infinite where one has no limit."""
    unlimited = func.sum(case((seconds == 0.0, 1), else_=0))
    found = select(func.count(), func.sum(nodes), func.sum(nodes * seconds), unlimited).where(which)
    count, all_nodes, committed, without = (await connection.execute(found)).one()
    return count, all_nodes or 0, math.inf if without else committed or 0.0
