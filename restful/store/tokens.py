"""Personal tokens, and the secrets of service accounts: digests alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    String,
    Table,
    func,
    insert,
    or_,
    select,
    update,
)

from restful.store.metadata import METADATA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Row
    from sqlalchemy.ext.asyncio import AsyncConnection

TOKENS = Table(
    "token",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("user", String(26), ForeignKey("user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("kind", String(8), CheckConstraint("kind IN ('pat', 'client')", name="kind"), nullable=False),
    Column("prefix", String(8), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("scopes", String(1000), nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("last_used", Double),
    Column("last_address", String(45)),
    Column("revoked", Double),
    Column("name", String(100), nullable=False),
)


class CredentialKind(StrEnum):
    """What a stored token is."""

    PERSONAL = "pat"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token as stored; its text is known to its owner alone."""

    id: str
    user: str
    kind: CredentialKind
    prefix: str
    sha256: str = field(repr=False)
    scopes: frozenset[str]
    created: float
    expires: float
    name: str
    last_used: float | None = None
    last_address: str | None = None
    revoked: float | None = None

    def good(self, now: float) -> bool:
        """Return whether it is neither revoked nor expired."""
        return self.revoked is None and now < self.expires


def _record(row: Row[Any]) -> TokenRecord:
    found = dict(row._mapping)
    scopes = frozenset(found["scopes"].split())
    return TokenRecord(**{**found, "kind": CredentialKind(found["kind"]), "scopes": scopes})


async def add(connection: AsyncConnection, token: TokenRecord) -> None:
    """Insert a token."""
    values = {column.name: getattr(token, column.name) for column in TOKENS.columns}
    await connection.execute(insert(TOKENS).values({**values, "scopes": " ".join(sorted(token.scopes))}))


async def by_digest(connection: AsyncConnection, sha256: str) -> TokenRecord | None:
    """Return the token with a digest, also one that is revoked; or None."""
    return await _one(connection, TOKENS.c.sha256 == sha256)


async def by_id(connection: AsyncConnection, token: str) -> TokenRecord | None:
    """Return a token, also one that is revoked; or None."""
    return await _one(connection, TOKENS.c.id == token)


async def _one(connection: AsyncConnection, condition: ColumnElement[bool]) -> TokenRecord | None:
    row = (await connection.execute(select(TOKENS).where(condition))).one_or_none()
    return None if row is None else _record(row)


async def of_user(connection: AsyncConnection, user: str, kind: CredentialKind) -> Sequence[TokenRecord]:
    """Return a user's tokens that are not revoked, the newest first."""
    found = select(TOKENS).where(TOKENS.c.user == user, TOKENS.c.kind == kind, TOKENS.c.revoked.is_(None))
    return [_record(row) for row in await connection.execute(found.order_by(TOKENS.c.id.desc()))]


async def count(connection: AsyncConnection, user: str, now: float) -> int:
    """Return how many of a user's personal tokens are good."""
    found = select(func.count()).where(
        TOKENS.c.user == user,
        TOKENS.c.kind == CredentialKind.PERSONAL,
        TOKENS.c.revoked.is_(None),
        TOKENS.c.expires > now,
    )
    return (await connection.execute(found)).scalar_one()


async def revoke(connection: AsyncConnection, user: str, token: str, now: float) -> bool:
    """Revoke one of a user's tokens; return whether there was one."""
    where = (TOKENS.c.id == token, TOKENS.c.user == user, TOKENS.c.revoked.is_(None))
    return (await connection.execute(update(TOKENS).where(*where).values(revoked=now))).rowcount == 1


async def revoke_all(connection: AsyncConnection, user: str, now: float) -> None:
    """Revoke all of a user's tokens."""
    where = (TOKENS.c.user == user, TOKENS.c.revoked.is_(None))
    await connection.execute(update(TOKENS).where(*where).values(revoked=now))


async def touch(connection: AsyncConnection, token: str, address: str, now: float, interval: float) -> None:
    """Write when and from where a token was used, unless that was written within an interval."""
    old = or_(TOKENS.c.last_used.is_(None), TOKENS.c.last_used <= now - interval)
    values = {"last_used": now, "last_address": address[:45]}
    await connection.execute(update(TOKENS).where(TOKENS.c.id == token, old).values(values))
