"""Clusters that the service knows, and how far the projection of each one's journal has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Column, Double, String, Table, insert, select, update

from restful.store.jobs import ACTIVE_STATES, JOBS
from restful.store.metadata import METADATA
from restful.store.request_keys import PENDING, REQUEST_KEYS

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

CLUSTERS = Table(
    "cluster",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("name", String(255), nullable=False, unique=True),
    Column("namespace", String(255), nullable=False),
    Column("uid", String(255), nullable=False),
    Column("tenancy", String(16), nullable=False),
    Column("owner", String(26), nullable=False),
    Column("instance", String(26), nullable=False),
    Column("started", String(64), nullable=False),
    Column("seen", Double, nullable=False),
    Column("writer", String(26), nullable=False),
    Column("writer_until", Double, nullable=False),
)


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster."""

    id: str
    name: str
    namespace: str
    """Empty on this machine."""
    uid: str
    """That of its MiniCluster, by which one made anew under the same name differs; empty on this machine."""
    tenancy: str
    owner: str
    """The user whose it is, with the tenancy "own"; else empty."""
    instance: str
    """The id of the instance, the same after a dump and its restore; empty: never reached."""
    started: str
    """The attribute `broker.starttime` when it was reached last; empty: this life was not reached."""
    seen: float
    """The time of the last change in the projection."""
    writer: str = ""
    """The service process that writes the projection."""
    writer_until: float = 0.0
    """When another process may, unless the writer goes on."""


async def by_name(connection: AsyncConnection, name: str) -> ClusterRow | None:
    """Return a cluster."""
    found = (await connection.execute(select(CLUSTERS).where(CLUSTERS.c.name == name))).one_or_none()
    return None if found is None else ClusterRow(**found._mapping)


async def with_active_jobs(connection: AsyncConnection) -> list[ClusterRow]:
    """Return the clusters with jobs that have not ended as far as is known, or requests without a job."""
    ids = select(JOBS.c.cluster).where(JOBS.c.status.in_(ACTIVE_STATES))
    pending = select(REQUEST_KEYS.c.cluster).where(REQUEST_KEYS.c.state == PENDING)
    found = select(CLUSTERS).where(CLUSTERS.c.id.in_(ids.union(pending))).order_by(CLUSTERS.c.name)
    return [ClusterRow(**each._mapping) for each in await connection.execute(found)]


async def add(connection: AsyncConnection, row: ClusterRow) -> None:
    """Add a cluster."""
    values = {column.name: getattr(row, column.name) for column in CLUSTERS.columns}
    await connection.execute(insert(CLUSTERS).values(values))


async def reached(connection: AsyncConnection, cluster_id: str, instance: str, started: str) -> None:
    """Note which instance a cluster has now."""
    changed = update(CLUSTERS).where(CLUSTERS.c.id == cluster_id)
    await connection.execute(changed.values(instance=instance, started=started))


async def described(connection: AsyncConnection, row: ClusterRow) -> None:
    """Note a cluster's uid, tenancy and owner, and when its broker has started."""
    changed = update(CLUSTERS).where(CLUSTERS.c.id == row.id)
    values = {"uid": row.uid, "tenancy": row.tenancy, "owner": row.owner, "started": row.started}
    await connection.execute(changed.values(values))


async def lead(connection: AsyncConnection, cluster_id: str, writer: str, now: float, until: float) -> bool:
    """Have a process write the projection; return False where another one does."""
    free = (CLUSTERS.c.writer == writer) | (CLUSTERS.c.writer_until < now)
    changed = update(CLUSTERS).where((CLUSTERS.c.id == cluster_id) & free)
    return (await connection.execute(changed.values(writer=writer, writer_until=until))).rowcount == 1


async def resign(connection: AsyncConnection, cluster_id: str, writer: str) -> None:
    """Have the process that writes the projection do so no longer."""
    mine = (CLUSTERS.c.id == cluster_id) & (CLUSTERS.c.writer == writer)
    await connection.execute(update(CLUSTERS).where(mine).values(writer_until=0.0))


async def saw(connection: AsyncConnection, cluster_id: str, seen: float) -> None:
    """Note the time of the last change in the projection."""
    await connection.execute(update(CLUSTERS).where(CLUSTERS.c.id == cluster_id).values(seen=seen))
