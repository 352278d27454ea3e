"""Quotas against what the database has: within the transaction that writes a reservation."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sqlalchemy import bindparam, case, func, select, true

from broker_config.formats.job_states import JobState
from restful.jobs import quota
from restful.jobs.quota import Quota, Use
from restful.store import quotas, usage
from restful.store.clusters import CLUSTERS
from restful.store.groups import EVERY_CLUSTER
from restful.store.jobs import ACTIVE_STATES, JOBS
from restful.store.quotas import SERVICE, AppliedQuota
from restful.store.request_keys import PENDING, REQUEST_KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.jobs.quota import Reservation
    from restful.settings import JobLimits
    from restful.store.clusters import ClusterRow

_NOT_BEGUN = tuple(each for each in ACTIVE_STATES if each < JobState.RUN)


async def check(
    connection: AsyncConnection,
    user: str,
    cluster: ClusterRow,
    jobs: Sequence[Reservation],
    limits: JobLimits,
    now: float,
) -> None:
    """Raise HttpProblem "quota" if these further jobs would exceed a quota of a user at a cluster."""
    for each in await _applying(connection, user, [cluster], limits):
        where = None if each.cluster == EVERY_CLUSTER else cluster.id
        since = None if each.limits.node_seconds is None else now - each.limits.window
        quota.check(each.limits, await use(connection, user, where, since), jobs)


class QuotaUse(NamedTuple):
    """A quota, and what is used of it."""

    quota: AppliedQuota
    use: Use


async def uses(
    connection: AsyncConnection, user: str, clusters: Sequence[ClusterRow], limits: JobLimits, now: float
) -> list[QuotaUse]:
    """Return what a user's jobs at clusters are held to, each once, and what they use of it."""
    ids = {each.name: each.id for each in clusters}
    return [
        QuotaUse(each, await use(connection, user, ids.get(each.cluster), now - each.limits.window))
        for each in await _applying(connection, user, clusters, limits)
    ]


async def _applying(
    connection: AsyncConnection, user: str, clusters: Sequence[ClusterRow], limits: JobLimits
) -> list[AppliedQuota]:
    """Return the quotas, and that of the service for each cluster where no other limits the jobs."""
    found: dict[AppliedQuota, None] = {}
    for name, applied in (await quotas.applying(connection, user, [each.name for each in clusters])).items():
        found |= dict.fromkeys(applied)
        if all(each.limits.jobs is None for each in applied):
            found[AppliedQuota(name, SERVICE, None, Quota(jobs=limits.active))] = None
    return list(found)


async def use(connection: AsyncConnection, user: str, cluster: str | None, since: float | None) -> Use:
    """Return what a user's jobs have, at one cluster or at all; spent is what they had since a time."""
    given = {"user": user, "cluster": cluster}
    everywhere = cluster is None
    of_jobs = await _summed(connection, _of_jobs(everywhere), given)
    of_requests = await _summed(connection, _of_requests(everywhere), given)
    jobs, queued, nodes, committed = (sum(each) for each in zip(of_jobs, of_requests, strict=True))
    spent = 0.0 if since is None else await usage.spent(connection, user, cluster, since)
    return Use(int(jobs), int(queued), int(nodes), committed, spent)


async def _summed(
    connection: AsyncConnection, sums: Select[Any], given: Mapping[str, Any]
) -> tuple[int, int, int, float]:
    """Return how many there are and how many are queued, their nodes, and their node-seconds.

    The last are infinite where one has no time limit.
    """
    count, of_them, all_nodes, committed, without = (await connection.execute(sums, given)).one()
    return count, of_them or 0, all_nodes or 0, math.inf if without else committed or 0.0


# Statements that each submit has are made once.


@cache
def _of_jobs(everywhere: bool) -> Select[Any]:
    """Return the sums over the jobs of `user` that have not ended, at `cluster` or everywhere."""
    mine = _at(JOBS.c.cluster, everywhere) & (JOBS.c.owner == bindparam("user")) & (JOBS.c.request != "")
    queued = JOBS.c.status.in_(_NOT_BEGUN)
    return _sums(queued, JOBS.c.nnodes, JOBS.c.duration).where(mine & JOBS.c.status.in_(ACTIVE_STATES))


@cache
def _of_requests(everywhere: bool) -> Select[Any]:
    """Return the sums over the requests of `user` without a job, at `cluster` or everywhere."""
    mine = _at(REQUEST_KEYS.c.cluster, everywhere) & (REQUEST_KEYS.c.user == bindparam("user"))
    sums = _sums(true(), REQUEST_KEYS.c.nodes, REQUEST_KEYS.c.seconds)
    return sums.where(mine & (REQUEST_KEYS.c.state == PENDING))


def _at(column: ColumnElement[str], everywhere: bool) -> ColumnElement[bool]:
    return column.in_(select(CLUSTERS.c.id)) if everywhere else column == bindparam("cluster")


def _sums(
    queued: ColumnElement[bool], nodes: ColumnElement[int], seconds: ColumnElement[float]
) -> Select[Any]:
    unlimited, waiting = (func.sum(case((each, 1), else_=0)) for each in (seconds == 0.0, queued))
    sums = func.count(), waiting, func.sum(nodes), func.sum(nodes * seconds), unlimited
    return select(*cast("tuple[ColumnElement[Any], ...]", sums))
