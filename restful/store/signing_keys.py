"""The keys that sign access tokens; their private halves are sealed with the master key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import Column, Double, LargeBinary, String, Table, delete, insert, select, update

from restful.identity.key_rotation import KeyTimes
from restful.store.metadata import METADATA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

SIGNING_KEYS = Table(
    "signing_key",
    METADATA,
    Column("kid", String(64), primary_key=True),
    Column("alg", String(16), nullable=False),
    Column("private", LargeBinary, nullable=False),
    Column("not_before", Double, nullable=False),
    Column("retire_at", Double),
)


@dataclass(frozen=True, slots=True)
class SigningKeyRecord:
    """A key as stored."""

    times: KeyTimes
    alg: str
    private: bytes = field(repr=False)
    """Sealed under the kid."""


async def add(connection: AsyncConnection, key: SigningKeyRecord, predecessors_retire_at: float) -> None:
    """Insert a key, and set when those before it are no longer published."""
    unretired = update(SIGNING_KEYS).where(SIGNING_KEYS.c.retire_at.is_(None))
    await connection.execute(unretired.values(retire_at=predecessors_retire_at))
    values = {
        "kid": key.times.kid,
        "alg": key.alg,
        "private": key.private,
        "not_before": key.times.not_before,
        "retire_at": key.times.retire_at,
    }
    await connection.execute(insert(SIGNING_KEYS).values(values))


async def every(connection: AsyncConnection) -> Sequence[SigningKeyRecord]:
    """Return all keys, the oldest first."""
    rows = await connection.execute(select(SIGNING_KEYS).order_by(SIGNING_KEYS.c.not_before))
    return [
        SigningKeyRecord(KeyTimes(row.kid, row.not_before, row.retire_at), row.alg, row.private)
        for row in rows
    ]


async def purge(connection: AsyncConnection, now: float) -> None:
    """Delete the keys that are no longer published."""
    await connection.execute(delete(SIGNING_KEYS).where(SIGNING_KEYS.c.retire_at <= now))
