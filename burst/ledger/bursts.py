"""Bursts: their records, and each change of state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    String,
    Table,
    Text,
    false,
    insert,
    select,
    text,
    update,
)

from burst.errors import BurstUnknown
from burst.ledger.metadata import METADATA
from burst.lifecycle.records import BurstRecord
from burst.lifecycle.states import BurstOutcome, BurstState

if TYPE_CHECKING:
    from sqlalchemy import Row, Select
    from sqlalchemy.ext.asyncio import AsyncConnection

BURSTS = Table(
    "burst",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("cluster", String(63), nullable=False, index=True),
    Column("cluster_name", String(127), nullable=False),
    Column("slot", String(63), nullable=False),
    Column("provider", String(63), nullable=False),
    Column("location", Text, nullable=False),
    Column("machine", String(100), nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("created", Double, nullable=False),
    Column("until", Double, nullable=False),
    Column("spot", Boolean, nullable=False),
    Column("price", BigInteger, nullable=False),
    Column("fee", BigInteger, nullable=False, server_default="0"),
    Column("instance", String(64), nullable=False),
    Column("state", String(12), nullable=False),
    Column("state_since", Double, nullable=False),
    Column("outcome", String(12)),
    Column("reason", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_try", Double, nullable=False),
    Column("idle_since", Double),
    Column("empty_since", Double),
    Column("stopping", Boolean, nullable=False),
    Column("amounts", Text, nullable=False),
    Column("isolated", Boolean, nullable=False, server_default=false()),
    Column("remote", String(64), nullable=False, server_default=text("''")),
)
_HAS_SLOT = BURSTS.c.state.not_in((BurstState.REQUESTED, BurstState.DELETED))
Index(
    "uq_burst_slot",
    BURSTS.c.cluster,
    BURSTS.c.slot,
    unique=True,
    sqlite_where=_HAS_SLOT,
    postgresql_where=_HAS_SLOT,
)
_OPEN = select(BURSTS).where(BURSTS.c.state != BurstState.DELETED).order_by(BURSTS.c.id)


def _record(row: Row[Any]) -> BurstRecord:
    values = dict(row._mapping)
    outcome = values["outcome"]
    values |= {"state": BurstState(values["state"]), "outcome": outcome and BurstOutcome(outcome)}
    return BurstRecord(**{**values, "amounts": json.loads(values["amounts"])})


async def add(connection: AsyncConnection, burst: BurstRecord) -> None:
    """Insert a burst."""
    values = {column.name: getattr(burst, column.name) for column in BURSTS.columns}
    values["amounts"] = json.dumps(dict(burst.amounts), separators=(",", ":"))
    await connection.execute(insert(BURSTS).values(values))


async def by_id(connection: AsyncConnection, burst: str) -> BurstRecord:
    """Return a burst. Raises BurstUnknown."""
    row = (await connection.execute(select(BURSTS).where(BURSTS.c.id == burst))).one_or_none()
    if row is None:
        raise BurstUnknown(f"there is no burst {burst[:40]!r}")
    return _record(row)


async def by_label(connection: AsyncConnection, label: str) -> BurstRecord:
    """Return a burst by its id, or by the end of it that names its resources. Raises BurstUnknown."""
    found = await _records(connection, select(BURSTS).where(BURSTS.c.id.endswith(label, autoescape=True)))
    exact = [each for each in found if label in {each.id, each.label}]
    if len(exact) != 1:
        raise BurstUnknown(f"there is no burst {label[:40]!r}; `minicluster burst list --all` has all")
    return exact[0]


async def opened(connection: AsyncConnection) -> list[BurstRecord]:
    """Return all bursts that are not deleted, the oldest first."""
    return await _records(connection, _OPEN)


async def all_of_them(connection: AsyncConnection) -> list[BurstRecord]:
    """Return all bursts, the oldest first."""
    return await _records(connection, select(BURSTS).order_by(BURSTS.c.id))


async def asked_since(connection: AsyncConnection, since: float) -> list[BurstRecord]:
    """Return all bursts that were asked for since a time, the oldest first."""
    found = select(BURSTS).where(BURSTS.c.created >= since).order_by(BURSTS.c.id)
    return await _records(connection, found)


async def of_cluster(connection: AsyncConnection, cluster: str) -> list[BurstRecord]:
    """Return all bursts of a MiniCluster, the oldest first."""
    found = select(BURSTS).where(BURSTS.c.cluster == cluster).order_by(BURSTS.c.id)
    return await _records(connection, found)


async def recent(connection: AsyncConnection, limit: int) -> list[BurstRecord]:
    """Return the latest bursts, whatever became of them, the latest first."""
    return await _records(connection, select(BURSTS).order_by(BURSTS.c.id.desc()).limit(limit))


async def in_slot(connection: AsyncConnection, cluster: str, slot: str) -> BurstRecord | None:
    """Return the burst that has a slot, or None."""
    found = select(BURSTS).where(BURSTS.c.cluster == cluster, BURSTS.c.slot == slot, _HAS_SLOT)
    return next(iter(await _records(connection, found)), None)


async def change(connection: AsyncConnection, burst: str, **values: Any) -> None:
    """Set values of a burst."""
    await connection.execute(update(BURSTS).where(BURSTS.c.id == burst).values(values))


async def _records(connection: AsyncConnection, found: Select[Any]) -> list[BurstRecord]:
    return [_record(row) for row in await connection.execute(found)]
