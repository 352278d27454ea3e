"""Sessions: browsers' cookies, refresh tokens by family, and links that log in once. Digests alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    String,
    Table,
    delete,
    exists,
    insert,
    select,
    update,
)

from restful.store.metadata import METADATA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncConnection

SESSIONS = Table(
    "session",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("user", String(26), ForeignKey("user.id", ondelete="CASCADE"), nullable=False),
    Column(
        "kind", String(8), CheckConstraint("kind IN ('web', 'refresh', 'link')", name="kind"), nullable=False
    ),
    Column("family", String(26), nullable=False, index=True),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("parent", String(26)),
    Column("client", String(100), nullable=False, default=""),
    Column("scopes", String(1000), nullable=False, default=""),
    Column("created", Double, nullable=False),
    Column("used_at", Double),
    Column("used_by", String(64)),
    Column("expires", Double, nullable=False),
    Column("address", String(45), nullable=False, default=""),
    Column("agent", String(200), nullable=False, default=""),
    Column("revoked", Double),
    Column("csrf", String(64), nullable=False, default=""),
    Column("network", String(45), nullable=False, default=""),
    Index("ix_session_user_network", "user", "network"),
)


class SessionKind(StrEnum):
    """What a row is."""

    WEB = "web"
    REFRESH = "refresh"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A cookie, a refresh token or a link as stored."""

    id: str
    user: str
    kind: SessionKind
    family: str
    """The id of the first refresh token after a login; of others their own id."""
    sha256: str = field(repr=False)
    created: float
    expires: float
    client: str = ""
    scopes: frozenset[str] = frozenset()
    parent: str | None = None
    used_at: float | None = None
    """Of a refresh token or a link: once. Of a cookie: the last time, to the minute."""
    used_by: str | None = None
    address: str = ""
    agent: str = ""
    revoked: float | None = None
    csrf: str = field(default="", repr=False)
    network: str = ""
    """What the address is counted as."""


def _record(row: Row[Any]) -> SessionRecord:
    found = dict(row._mapping)
    scopes = frozenset(found["scopes"].split())
    return SessionRecord(**{**found, "kind": SessionKind(found["kind"]), "scopes": scopes})


async def add(connection: AsyncConnection, session: SessionRecord) -> None:
    """Insert a session."""
    values = {column.name: getattr(session, column.name) for column in SESSIONS.columns}
    values |= {
        "scopes": " ".join(sorted(session.scopes)),
        "address": session.address[:45],
        "agent": session.agent[:200],
    }
    await connection.execute(insert(SESSIONS).values(values))


async def by_digest(connection: AsyncConnection, kind: SessionKind, sha256: str) -> SessionRecord | None:
    """Return the session of a kind with a digest, also a revoked one; or None."""
    where = (SESSIONS.c.sha256 == sha256, SESSIONS.c.kind == kind)
    row = (await connection.execute(select(SESSIONS).where(*where))).one_or_none()
    return None if row is None else _record(row)


async def by_id(connection: AsyncConnection, session: str) -> SessionRecord | None:
    """Return a session, also a revoked one: of a family, by its id, the first refresh token; or None."""
    row = (await connection.execute(select(SESSIONS).where(SESSIONS.c.id == session))).one_or_none()
    return None if row is None else _record(row)


async def alive(connection: AsyncConnection, family: str) -> bool:
    """Return whether a family, or a cookie, is known and not revoked."""
    where = (SESSIONS.c.id == family, SESSIONS.c.revoked.is_(None))
    return (await connection.execute(select(exists().where(*where)))).scalar_one()


async def use(connection: AsyncConnection, session: str, by: str, now: float) -> bool:
    """Mark a refresh token or a link as used; return False if it already was, as when two race."""
    where = (SESSIONS.c.id == session, SESSIONS.c.used_at.is_(None), SESSIONS.c.revoked.is_(None))
    found = update(SESSIONS).where(*where).values(used_at=now, used_by=by)
    return (await connection.execute(found)).rowcount == 1


async def touch(connection: AsyncConnection, session: str, now: float, expires: float) -> None:
    """Write a cookie's last use, and when it now ends."""
    where = (SESSIONS.c.id == session, SESSIONS.c.revoked.is_(None))
    await connection.execute(update(SESSIONS).where(*where).values(used_at=now, expires=expires))


async def of_user(connection: AsyncConnection, user: str, now: float) -> Sequence[SessionRecord]:
    """Return a user's logins that are good, the newest first: of a family the token that is unused."""
    found = select(SESSIONS).where(
        SESSIONS.c.user == user,
        SESSIONS.c.revoked.is_(None),
        SESSIONS.c.expires > now,
        (SESSIONS.c.kind == SessionKind.WEB)
        | ((SESSIONS.c.kind == SessionKind.REFRESH) & SESSIONS.c.used_at.is_(None)),
    )
    return [_record(row) for row in await connection.execute(found.order_by(SESSIONS.c.family.desc()))]


async def revoke_family(connection: AsyncConnection, family: str, now: float, user: str = "") -> bool:
    """Revoke a family or a cookie, if it is the user's; return whether there was one to revoke."""
    where = [SESSIONS.c.family == family, SESSIONS.c.revoked.is_(None)]
    if user:
        where.append(SESSIONS.c.user == user)
    return (await connection.execute(update(SESSIONS).where(*where).values(revoked=now))).rowcount > 0


async def revoke_all(connection: AsyncConnection, user: str, now: float, but: str = "") -> int:
    """Revoke all sessions of a user but one family; return how many rows."""
    where = (SESSIONS.c.user == user, SESSIONS.c.revoked.is_(None), SESSIONS.c.family != but)
    return (await connection.execute(update(SESSIONS).where(*where).values(revoked=now))).rowcount


async def known_network(connection: AsyncConnection, user: str, network: str) -> bool:
    """Return whether a user has logged in from a network before."""
    where = (SESSIONS.c.user == user, SESSIONS.c.network == network)
    return (await connection.execute(select(exists().where(*where)))).scalar_one()


async def purge(connection: AsyncConnection, before: float) -> int:
    """Delete what expired before a time, but not of a family that goes on; return how many rows."""
    going_on = select(SESSIONS.c.family).where(SESSIONS.c.expires >= before)
    where = (SESSIONS.c.expires < before, SESSIONS.c.family.not_in(going_on))
    return (await connection.execute(delete(SESSIONS).where(*where))).rowcount
