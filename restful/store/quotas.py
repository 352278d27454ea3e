"""Quotas: of one user or of everybody, at one cluster or at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Column, Double, Integer, String, Table, UniqueConstraint, delete, insert, or_, select

from restful.jobs.quota import Quota
from restful.store.metadata import METADATA

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

EVERYBODY = "*"
"""A subject: each user who has no quota of his own for that cluster. As a cluster: all of them."""

QUOTAS = Table(
    "quota",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("subject", String(26), nullable=False),
    Column("cluster", String(26), nullable=False),
    Column("jobs", Integer),
    Column("nodes", Integer),
    Column("node_seconds", Double),
    Column("window", Double, nullable=False),
    UniqueConstraint("subject", "cluster"),
)


async def put(connection: AsyncConnection, row_id: str, subject: str, cluster: str, given: Quota) -> None:
    """Set the quota of a subject at a cluster, in place of one that is there."""
    await remove(connection, subject, cluster)
    values = {"id": row_id, "subject": subject, "cluster": cluster, **given._asdict()}
    await connection.execute(insert(QUOTAS).values(values))


async def remove(connection: AsyncConnection, subject: str, cluster: str) -> bool:
    """Remove the quota of a subject at a cluster; return whether there was one."""
    same = (QUOTAS.c.subject == subject) & (QUOTAS.c.cluster == cluster)
    return (await connection.execute(delete(QUOTAS).where(same))).rowcount > 0


async def all_quotas(connection: AsyncConnection) -> list[tuple[str, str, Quota]]:
    """Return every quota, with its subject and cluster."""
    found = await connection.execute(select(QUOTAS).order_by(QUOTAS.c.subject, QUOTAS.c.cluster))
    return [(row.subject, row.cluster, _quota(row)) for row in found]


async def applying(connection: AsyncConnection, user: str, cluster: str) -> list[tuple[str, Quota]]:
    """Return the quotas that hold for a user's jobs at a cluster, each with the cluster that it is about.

    For each of "this cluster" and "all clusters" the user's own counts, else everybody's.
    """
    whose = QUOTAS.c.subject.in_((user, EVERYBODY)) & or_(
        QUOTAS.c.cluster == cluster, QUOTAS.c.cluster == EVERYBODY
    )
    chosen: dict[str, tuple[bool, Quota]] = {}
    for row in await connection.execute(select(QUOTAS).where(whose)):
        own = row.subject == user
        if own or not chosen.get(row.cluster, (False,))[0]:
            chosen[row.cluster] = (own, _quota(row))
    return [(at, found) for at, (_, found) in sorted(chosen.items())]


def _quota(row: object) -> Quota:
    return Quota(*(getattr(row, name) for name in Quota._fields))
