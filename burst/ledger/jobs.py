"""The jobs for which bursts were made, and where each is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Column, Double, ForeignKey, String, Table, Text, insert, select, update

from burst.ledger.bursts import BURSTS
from burst.ledger.metadata import METADATA
from burst.lifecycle.records import AssignedJob
from burst.lifecycle.states import BurstState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

JOBS = Table(
    "burst_job",
    METADATA,
    Column("burst", String(26), ForeignKey("burst.id", ondelete="CASCADE"), primary_key=True),
    Column("job", BigInteger, primary_key=True, autoincrement=False),
    Column("user", String(63), nullable=False),
    Column("origin", String(63), nullable=False),
    Column("moved_at", Double),
    Column("returned_at", Double),
    Column("outcome", Text, nullable=False),
)


async def add(connection: AsyncConnection, jobs: Sequence[AssignedJob]) -> None:
    """Insert the jobs of a burst."""
    rows = [{column.name: getattr(job, column.name) for column in JOBS.columns} for job in jobs]
    await connection.execute(insert(JOBS), rows)


async def of_burst(connection: AsyncConnection, burst: str) -> list[AssignedJob]:
    """Return the jobs of a burst by their ids."""
    found = select(JOBS).where(JOBS.c.burst == burst).order_by(JOBS.c.job)
    return [AssignedJob(**row._mapping) for row in await connection.execute(found)]


async def assigned(connection: AsyncConnection, cluster: str) -> set[int]:
    """Return the jobs of a MiniCluster that bursts have, or are to have."""
    found = (
        select(JOBS.c.job)
        .join(BURSTS, BURSTS.c.id == JOBS.c.burst)
        .where(BURSTS.c.cluster == cluster, BURSTS.c.state != BurstState.DELETED, JOBS.c.outcome == "")
    )
    return set(await connection.scalars(found))


async def change(connection: AsyncConnection, burst: str, jobs: Iterable[int], **values: Any) -> None:
    """Set values of jobs of a burst."""
    where = (JOBS.c.burst == burst, JOBS.c.job.in_(list(jobs)))
    await connection.execute(update(JOBS).where(*where).values(values))
