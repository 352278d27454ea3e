"""Attempts to log in that did not succeed, by name and by address.

Names are digests, as people type passwords there. A row's key is (name, "") for a name from anywhere;
(name, address) for a name from an address where its user has logged in before, which is counted apart so that
others cannot lock him out; ("", address) for an address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Column, Double, Integer, String, Table, and_, delete, select, update

from restful.identity.backoff import LoginFailures
from restful.store.metadata import METADATA
from restful.store.statements import insert_missing

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

LOGIN_FAILURES = Table(
    "login_failure",
    METADATA,
    Column("name", String(63), primary_key=True),
    Column("address", String(45), primary_key=True),
    Column("count", Integer, nullable=False),
    Column("next_at", Double, nullable=False, index=True),
)


class FailureKey(NamedTuple):
    """Whose attempts are counted."""

    name: str
    address: str

    def matches(self) -> ColumnElement[bool]:
        """Return the condition for its row."""
        return and_(LOGIN_FAILURES.c.name == self.name, LOGIN_FAILURES.c.address == self.address)


async def read(connection: AsyncConnection, key: FailureKey) -> LoginFailures:
    """Return what is counted, and keep others from changing it in this transaction."""
    missing = {"name": key.name, "address": key.address, "count": 0, "next_at": 0.0}
    await insert_missing(connection, LOGIN_FAILURES, missing)
    columns = select(LOGIN_FAILURES.c.count, LOGIN_FAILURES.c.next_at)
    row = (await connection.execute(columns.where(key.matches()).with_for_update())).one()
    return LoginFailures(*row)


async def write(connection: AsyncConnection, key: FailureKey, failures: LoginFailures) -> None:
    """Store what is counted; nothing is kept of a key without failures."""
    if failures.count == 0:
        await connection.execute(delete(LOGIN_FAILURES).where(key.matches()))
        return
    values = {"count": failures.count, "next_at": failures.next_at}
    await connection.execute(update(LOGIN_FAILURES).where(key.matches()).values(values))


async def purge(connection: AsyncConnection, before: float) -> None:
    """Delete what has been forgotten: rows whose wait ended before a time."""
    await connection.execute(delete(LOGIN_FAILURES).where(LOGIN_FAILURES.c.next_at < before))
