"""Codes of devices that wait for their user's approval (RFC 8628)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    String,
    Table,
    delete,
    insert,
    select,
    update,
)

from restful.identity.device_flow import DeviceState, PollState
from restful.store.metadata import METADATA

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Row
    from sqlalchemy.ext.asyncio import AsyncConnection

DEVICE_CODES = Table(
    "device_code",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("user_code", String(9), nullable=False, unique=True),
    Column("client", String(100), nullable=False),
    Column("scopes", String(1000), nullable=False),
    Column(
        "state",
        String(8),
        CheckConstraint("state IN ('pending', 'approved', 'denied', 'used')", name="state"),
        nullable=False,
    ),
    Column("user", String(26), ForeignKey("user.id", ondelete="CASCADE")),
    Column("expires", Double, nullable=False, index=True),
    Column("interval", Double, nullable=False),
    Column("polled_at", Double),
)


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """A device's code as stored."""

    hash: str = field(repr=False)
    user_code: str = field(repr=False)
    client: str
    scopes: frozenset[str]
    poll: PollState
    user: str | None = None
    """Who approved it."""


def _record(row: Row[Any]) -> DeviceRecord:
    state = PollState(DeviceState(row.state), row.expires, row.interval, row.polled_at)
    return DeviceRecord(row.hash, row.user_code, row.client, frozenset(row.scopes.split()), state, row.user)


async def add(connection: AsyncConnection, code: DeviceRecord) -> None:
    """Insert a code. Raises IntegrityError if its user code is in use."""
    values = {
        "hash": code.hash,
        "user_code": code.user_code,
        "client": code.client,
        "scopes": " ".join(sorted(code.scopes)),
        "state": code.poll.state,
        "expires": code.poll.expires,
        "interval": code.poll.interval,
    }
    await connection.execute(insert(DEVICE_CODES).values(values))


async def by_digest(connection: AsyncConnection, sha256: str) -> DeviceRecord | None:
    """Return the code with a digest, or None; keep others from changing it in this transaction."""
    return await _one(connection, DEVICE_CODES.c.hash == sha256)


async def by_user_code(connection: AsyncConnection, code: str) -> DeviceRecord | None:
    """Return the code that a user typed, or None; keep others from changing it in this transaction."""
    return await _one(connection, DEVICE_CODES.c.user_code == code)


async def _one(connection: AsyncConnection, condition: ColumnElement[bool]) -> DeviceRecord | None:
    found = select(DEVICE_CODES).where(condition).with_for_update()
    row = (await connection.execute(found)).one_or_none()
    return None if row is None else _record(row)


async def change(connection: AsyncConnection, sha256: str, **values: object) -> None:
    """Change columns of a code."""
    await connection.execute(update(DEVICE_CODES).where(DEVICE_CODES.c.hash == sha256).values(**values))


async def withdraw(connection: AsyncConnection, user: str) -> None:
    """Deny the codes that a user has approved, and that no device has used yet."""
    approved = (DEVICE_CODES.c.user == user, DEVICE_CODES.c.state == DeviceState.APPROVED)
    await connection.execute(update(DEVICE_CODES).where(*approved).values(state=DeviceState.DENIED))


async def purge(connection: AsyncConnection, now: float) -> None:
    """Delete the codes that have expired."""
    await connection.execute(delete(DEVICE_CODES).where(DEVICE_CODES.c.expires < now))
