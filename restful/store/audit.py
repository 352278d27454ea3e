"""The rows of the audit log, and the head of their chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    String,
    Table,
    Text,
    bindparam,
    insert,
    select,
    update,
)

from restful.store.metadata import METADATA
from restful.store.statements import insert_missing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncConnection

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False, index=True),
    Column("actor", String(26), nullable=False),
    Column("token", String(26), nullable=False),
    Column("address", String(45), nullable=False),
    Column("action", String(50), nullable=False),
    Column("object", String(300), nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("detail", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Index("ix_audit_actor_id", "actor", "id"),
)
AUDIT_HEAD = Table(
    "audit_head",
    METADATA,
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("id", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
)
_ONE = 1
# Statements that most requests have are made once.
_APPEND = insert(AUDIT)
_NAMES = tuple(column.name for column in AUDIT.columns)
_MOVE_HEAD = update(AUDIT_HEAD).values(id=bindparam("number"), hash=bindparam("last"))
_HEAD = select(AUDIT_HEAD).with_for_update()


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The number and the hash of the last row."""

    id: int
    hash: str


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One row of the log."""

    id: int
    """1, 2, 3 …: one that is missing was deleted."""
    at: float
    actor: str
    """The user's id; empty if nobody was authenticated."""
    token: str
    """The id of his token or session."""
    address: str
    action: str
    object: str
    outcome: str
    detail: str
    previous: str
    hash: str
    """SHA-256 of this row with the hash of the one before."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows are wanted."""

    actor: str = ""
    action: str = ""
    since: float | None = None
    until: float | None = None
    before: int | None = None
    """Rows with a smaller number: the next page."""
    limit: int = 100


def _record(row: Row[Any]) -> AuditRecord:
    return AuditRecord(**row._mapping)


async def head(connection: AsyncConnection, start: str) -> AuditHead:
    """Return the head, and let nobody else append in this transaction; an empty log begins with a hash."""
    row = (await connection.execute(_HEAD)).one_or_none()
    if row is None:
        await insert_missing(connection, AUDIT_HEAD, {"one": _ONE, "id": 0, "hash": start})
        row = (await connection.execute(_HEAD)).one()
    return AuditHead(row.id, row.hash)


async def last_head(connection: AsyncConnection, start: str) -> AuditHead:
    """Return the head for a check of the log."""
    row = (await connection.execute(select(AUDIT_HEAD))).one_or_none()
    return AuditHead(0, start) if row is None else AuditHead(row.id, row.hash)


async def append(connection: AsyncConnection, records: Sequence[AuditRecord]) -> None:
    """Insert rows, the last of which is the head from now on."""
    await connection.execute(_APPEND, [{name: getattr(each, name) for name in _NAMES} for each in records])
    await connection.execute(_MOVE_HEAD, {"number": records[-1].id, "last": records[-1].hash})


async def page(connection: AsyncConnection, wanted: AuditFilter) -> Sequence[AuditRecord]:
    """Return rows, the newest first."""
    found = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(wanted.limit)
    if wanted.actor:
        found = found.where(AUDIT.c.actor == wanted.actor)
    if wanted.action:
        found = found.where(AUDIT.c.action == wanted.action)
    if wanted.since is not None:
        found = found.where(AUDIT.c.at >= wanted.since)
    if wanted.until is not None:
        found = found.where(AUDIT.c.at < wanted.until)
    if wanted.before is not None:
        found = found.where(AUDIT.c.id < wanted.before)
    return [_record(row) for row in await connection.execute(found)]


async def every(connection: AsyncConnection) -> AsyncIterator[AuditRecord]:
    """Yield all rows, the oldest first."""
    async with connection.stream(select(AUDIT).order_by(AUDIT.c.id)) as rows:
        async for row in rows:
            yield _record(row)
