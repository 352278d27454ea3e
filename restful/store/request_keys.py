"""Requests that submit a job: a row each, written before the job is, and used for one job.

A row is its job's reservation, the memory of its Idempotency-Key, and what the owner mark in the job names.
"""

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
    UniqueConstraint,
    bindparam,
    delete,
    insert,
    select,
    update,
)

from restful.store.metadata import METADATA

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

PENDING = "pending"
DONE = "done"
RELEASED = "released"
"""No job came of it, as far as is known; its key may be used again."""

REQUEST_KEYS = Table(
    "request_key",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("user", String(26), nullable=False),
    Column("cluster", String(26), nullable=False),
    Column("instance", String(26), nullable=False),
    Column("key", String(255)),
    Column("fingerprint", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("job", BigInteger),
    Column("nodes", Integer, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("claimer", String(26), nullable=False),
    Column("claimed_until", Double, nullable=False),
    Column("created", Double, nullable=False),
    UniqueConstraint("user", "cluster", "key"),
)
_OPEN = Index("ix_request_key_open", REQUEST_KEYS.c.cluster, REQUEST_KEYS.c.state, REQUEST_KEYS.c.user)
_BY_AGE = Index("ix_request_key_created", REQUEST_KEYS.c.created)

# Statements that each submit has are made once.
_OLD = REQUEST_KEYS.c.created < bindparam("before")
_FORGET_KEYS = (
    update(REQUEST_KEYS)
    .where(_OLD & REQUEST_KEYS.c.key.is_not(None) & (REQUEST_KEYS.c.state != PENDING))
    .values(key=None)
)
_FORGET_RELEASED = delete(REQUEST_KEYS).where(_OLD & (REQUEST_KEYS.c.state == RELEASED))
_ADD = insert(REQUEST_KEYS)
_NAMES = tuple(column.name for column in REQUEST_KEYS.columns)
_BY_KEYS = select(REQUEST_KEYS).where(
    (REQUEST_KEYS.c.user == bindparam("user"))
    & (REQUEST_KEYS.c.cluster == bindparam("cluster"))
    & REQUEST_KEYS.c.key.in_(bindparam("keys", expanding=True))
)
_FINISH = (
    update(REQUEST_KEYS)
    .where(REQUEST_KEYS.c.id == bindparam("row_id"))
    .values(state=DONE, job=bindparam("job"), claimed_until=0.0)
)


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request."""

    id: str
    user: str
    cluster: str
    instance: str
    key: str | None
    fingerprint: str
    """SHA-256 of what was sent, in hex."""
    state: str
    job: int | None
    nodes: int
    """Reserved."""
    seconds: float
    """Reserved on each of these nodes; 0: no limit."""
    claimer: str
    """The service process that works on it."""
    claimed_until: float
    """When its claim ends, if that process has died; 0: nobody works on it."""
    created: float


def _row(found: Any) -> RequestRow:
    return RequestRow(**found._mapping)


async def add(connection: AsyncConnection, rows: Sequence[RequestRow]) -> None:
    """Add requests."""
    if rows:
        await connection.execute(_ADD, [{name: getattr(row, name) for name in _NAMES} for row in rows])


async def by_keys(
    connection: AsyncConnection, user: str, cluster: str, keys: Collection[str]
) -> dict[str, RequestRow]:
    """Return a user's requests of keys, by these."""
    if not keys:
        return {}
    given = {"user": user, "cluster": cluster, "keys": list(keys)}
    return {str(each.key): _row(each) for each in await connection.execute(_BY_KEYS, given)}


async def by_ids(connection: AsyncConnection, ids: Collection[str]) -> dict[str, RequestRow]:
    """Return requests by their ids."""
    if not ids:
        return {}
    found = await connection.execute(select(REQUEST_KEYS).where(REQUEST_KEYS.c.id.in_(ids)))
    return {each.id: _row(each) for each in found}


async def pending(connection: AsyncConnection, cluster: str) -> list[RequestRow]:
    """Return the requests of which no job is known, oldest first."""
    mine = (REQUEST_KEYS.c.cluster == cluster) & (REQUEST_KEYS.c.state == PENDING)
    found = await connection.execute(select(REQUEST_KEYS).where(mine).order_by(REQUEST_KEYS.c.id))
    return [_row(each) for each in found]


async def claim(connection: AsyncConnection, row: RequestRow, claimer: str, until: float) -> bool:
    """Have a process work on a request; return whether nobody else took it since `row` was read."""
    same = (REQUEST_KEYS.c.id == row.id) & (REQUEST_KEYS.c.claimer == row.claimer)
    same &= (REQUEST_KEYS.c.claimed_until == row.claimed_until) & (REQUEST_KEYS.c.state == row.state)
    changed = update(REQUEST_KEYS).where(same).values(state=PENDING, claimer=claimer, claimed_until=until)
    return (await connection.execute(changed)).rowcount == 1


async def renew(connection: AsyncConnection, ids: Collection[str], claimer: str, until: float) -> None:
    """Have a process go on to work on requests."""
    mine = REQUEST_KEYS.c.id.in_(ids) & (REQUEST_KEYS.c.claimer == claimer)
    mine &= REQUEST_KEYS.c.state == PENDING
    await connection.execute(update(REQUEST_KEYS).where(mine).values(claimed_until=until))


async def finished(connection: AsyncConnection, jobs: Mapping[str, int]) -> None:
    """Note the jobs of requests, by the requests' ids."""
    if jobs:
        await connection.execute(_FINISH, [{"row_id": row_id, "job": job} for row_id, job in jobs.items()])


async def reserve(
    connection: AsyncConnection, row_id: str, instance: str, nodes: int, seconds: float
) -> None:
    """Reserve for a request that is tried again."""
    changed = update(REQUEST_KEYS).where(REQUEST_KEYS.c.id == row_id)
    await connection.execute(changed.values(instance=instance, nodes=nodes, seconds=seconds))


async def unclaimed(connection: AsyncConnection, ids: Collection[str]) -> None:
    """Have nobody work on requests, which stay PENDING."""
    changed = update(REQUEST_KEYS).where(REQUEST_KEYS.c.id.in_(ids) & (REQUEST_KEYS.c.state == PENDING))
    await connection.execute(changed.values(claimed_until=0.0))


async def release(connection: AsyncConnection, row: RequestRow) -> None:
    """Let a request go of which there is no job, unless somebody works on it since it was read."""
    same = (REQUEST_KEYS.c.id == row.id) & (REQUEST_KEYS.c.claimer == row.claimer)
    same &= (REQUEST_KEYS.c.claimed_until == row.claimed_until) & (REQUEST_KEYS.c.state == PENDING)
    await connection.execute(update(REQUEST_KEYS).where(same).values(state=RELEASED, claimed_until=0.0))


async def remove(connection: AsyncConnection, ids: Collection[str]) -> None:
    """Remove requests of which there is no job, such as those that the instance refused."""
    await connection.execute(delete(REQUEST_KEYS).where(REQUEST_KEYS.c.id.in_(ids)))


async def expire_keys(connection: AsyncConnection, before: float) -> None:
    """Forget the keys of requests made before a time; the rows stay, as marks name them."""
    for each in (_FORGET_KEYS, _FORGET_RELEASED):
        await connection.execute(each, {"before": before})
