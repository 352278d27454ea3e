"""Users, people as well as service accounts, and what they are called at OpenID providers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Integer,
    String,
    Table,
    delete,
    exists,
    insert,
    select,
    update,
)

from restful.identity.principal import Role
from restful.store.metadata import METADATA

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement, Row
    from sqlalchemy.ext.asyncio import AsyncConnection

USERS = Table(
    "user",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("name", String(63), nullable=False, unique=True),
    Column("kind", String(8), CheckConstraint("kind IN ('user', 'service')", name="kind"), nullable=False),
    Column("display", String(200), nullable=False, default=""),
    Column("email", String(254)),
    Column(
        "role",
        String(8),
        CheckConstraint("role IN ('user', 'operator', 'admin')", name="role"),
        nullable=False,
    ),
    Column("password", String(200)),
    Column(
        "state",
        String(8),
        CheckConstraint("state IN ('active', 'locked', 'disabled')", name="state"),
        nullable=False,
    ),
    Column("epoch", Integer, nullable=False, default=0),
    Column("created", Double, nullable=False),
)

IDENTITIES = Table(
    "identity",
    METADATA,
    Column("issuer", String(500), primary_key=True),
    Column("subject", String(255), primary_key=True),
    Column("user", String(26), ForeignKey("user.id", ondelete="CASCADE"), nullable=False, index=True),
)
"""Users are known again by issuer and subject alone: an e-mail address may become somebody else's."""


class UserState(StrEnum):
    """Whether a user may log in."""

    ACTIVE = "active"
    LOCKED = "locked"
    """Until an admin has asked why: nothing is taken away."""
    DISABLED = "disabled"


class UserKind(StrEnum):
    """Who is behind a user."""

    USER = "user"
    SERVICE = "service"
    """A program: it has no password, and logs in with a client's secret."""


@dataclass(frozen=True, slots=True)
class UserRecord:
    """A user as stored."""

    id: str
    name: str
    kind: UserKind
    role: Role
    state: UserState
    epoch: int
    """Rises with whatever ends all sessions: another password, role or state."""
    created: float
    display: str = ""
    email: str | None = None
    password: str | None = field(default=None, repr=False)
    """Its argon2id hash; None if the user logs in otherwise."""


def _record(row: Row[Any]) -> UserRecord:
    found = dict(row._mapping)
    return UserRecord(
        **{
            **found,
            "kind": UserKind(found["kind"]),
            "role": Role(found["role"]),
            "state": UserState(found["state"]),
        }
    )


async def add(connection: AsyncConnection, user: UserRecord) -> None:
    """Insert a user. Raises IntegrityError if the name is taken."""
    values = {column.name: getattr(user, column.name) for column in USERS.columns}
    await connection.execute(insert(USERS).values(values))


async def by_id(connection: AsyncConnection, user: str) -> UserRecord | None:
    """Return a user, or None."""
    return await _one(connection, USERS.c.id == user)


async def by_name(connection: AsyncConnection, name: str) -> UserRecord | None:
    """Return the user with a name, or None."""
    return await _one(connection, USERS.c.name == name)


async def by_identity(connection: AsyncConnection, issuer: str, subject: str) -> UserRecord | None:
    """Return the user with a subject at an issuer, or None."""
    known = select(IDENTITIES.c.user).where(IDENTITIES.c.issuer == issuer, IDENTITIES.c.subject == subject)
    return await _one(connection, USERS.c.id.in_(known))


async def link(connection: AsyncConnection, issuer: str, subject: str, user: str) -> None:
    """Remember a user by a subject at an issuer. Raises IntegrityError if another one is."""
    await connection.execute(insert(IDENTITIES).values(issuer=issuer, subject=subject, user=user))


async def linked(connection: AsyncConnection, user: str) -> bool:
    """Return whether a user is known by a subject elsewhere."""
    return (await connection.execute(select(exists().where(IDENTITIES.c.user == user)))).scalar_one()


async def identities(connection: AsyncConnection, user: str) -> Sequence[tuple[str, str]]:
    """Return by which issuers and subjects a user is known."""
    found = select(IDENTITIES.c.issuer, IDENTITIES.c.subject).where(IDENTITIES.c.user == user)
    return [
        (row.issuer, row.subject) for row in await connection.execute(found.order_by(IDENTITIES.c.issuer))
    ]


async def names(connection: AsyncConnection, ids: Collection[str]) -> Mapping[str, str]:
    """Return the names of users by their ids, as far as they are there."""
    if not ids:
        return {}
    found = select(USERS.c.id, USERS.c.name).where(USERS.c.id.in_(ids))
    return {row.id: row.name for row in await connection.execute(found)}


async def _one(connection: AsyncConnection, condition: ColumnElement[bool]) -> UserRecord | None:
    row = (await connection.execute(select(USERS).where(condition))).one_or_none()
    return None if row is None else _record(row)


async def page(connection: AsyncConnection, kind: UserKind, after: str, limit: int) -> Sequence[UserRecord]:
    """Return users of a kind by name, those after a name."""
    found = (
        select(USERS).where(USERS.c.kind == kind, USERS.c.name > after).order_by(USERS.c.name).limit(limit)
    )
    return [_record(row) for row in await connection.execute(found)]


async def change(connection: AsyncConnection, user: str, values: dict[str, Any], *, end: bool) -> None:
    """Change columns of a user; with `end` his epoch rises as well."""
    if end:
        values = {**values, "epoch": USERS.c.epoch + 1}
    if values:
        await connection.execute(update(USERS).where(USERS.c.id == user).values(values))


async def remove(connection: AsyncConnection, user: str) -> None:
    """Delete a user, and what belongs to him. Raises IntegrityError while others refer to him."""
    await connection.execute(delete(USERS).where(USERS.c.id == user))


async def admins(connection: AsyncConnection) -> Sequence[str]:
    """Return the ids of the active admins, and keep others from changing them in this transaction."""
    found = (
        select(USERS.c.id)
        .where(USERS.c.role == Role.ADMIN, USERS.c.state == UserState.ACTIVE, USERS.c.kind == UserKind.USER)
        .order_by(USERS.c.id)
        .with_for_update()
    )
    return (await connection.execute(found)).scalars().all()
