"""Groups of users, and grants: what a user, a group or everyone may do at a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    String,
    Table,
    and_,
    delete,
    insert,
    or_,
    select,
)

from restful.identity.scopes import GrantRole
from restful.store.metadata import METADATA
from restful.store.statements import insert_missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncConnection

GROUPS = Table(
    "group",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("name", String(63), nullable=False, unique=True),
    Column("created", Double, nullable=False),
)
GROUP_MEMBERS = Table(
    "group_member",
    METADATA,
    Column("group", String(26), ForeignKey("group.id", ondelete="CASCADE"), primary_key=True),
    Column("user", String(26), ForeignKey("user.id", ondelete="CASCADE"), primary_key=True, index=True),
)
GRANTS = Table(
    "grant",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("cluster", String(200), nullable=False),
    Column("user", String(26), ForeignKey("user.id", ondelete="CASCADE"), index=True),
    Column("group", String(26), ForeignKey("group.id", ondelete="CASCADE"), index=True),
    Column("role", String(8), CheckConstraint("role IN ('use', 'operate')", name="role"), nullable=False),
    Column("created", Double, nullable=False),
    CheckConstraint('"user" IS NULL OR "group" IS NULL', name="subject"),
)
_USER, _GROUP = GRANTS.c.user, GRANTS.c.group
for _name, _columns, _condition in (
    ("uq_grant_user", [GRANTS.c.cluster, _USER], _USER.is_not(None)),
    ("uq_grant_group", [GRANTS.c.cluster, _GROUP], _GROUP.is_not(None)),
    ("uq_grant_everyone", [GRANTS.c.cluster], and_(_USER.is_(None), _GROUP.is_(None))),
):
    Index(_name, *_columns, unique=True, sqlite_where=_condition, postgresql_where=_condition)

EVERY_CLUSTER = "*"
"""As the cluster of a grant: it is good at all of them, also those that come."""


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group as stored."""

    id: str
    name: str
    created: float


@dataclass(frozen=True, slots=True)
class GrantRecord:
    """A grant as stored; with neither user nor group it is everyone's."""

    id: str
    cluster: str
    role: GrantRole
    created: float
    user: str | None = None
    group: str | None = None


def _grant(row: Row[Any]) -> GrantRecord:
    found = dict(row._mapping)
    return GrantRecord(**{**found, "role": GrantRole(found["role"])})


async def add_group(connection: AsyncConnection, group: GroupRecord) -> None:
    """Insert a group. Raises IntegrityError if the name is taken."""
    await connection.execute(
        insert(GROUPS).values({"id": group.id, "name": group.name, "created": group.created})
    )


async def groups(connection: AsyncConnection) -> Sequence[GroupRecord]:
    """Return all groups by name."""
    rows = await connection.execute(select(GROUPS).order_by(GROUPS.c.name))
    return [GroupRecord(**row._mapping) for row in rows]


async def group_by_id(connection: AsyncConnection, group: str) -> GroupRecord | None:
    """Return a group, or None."""
    row = (await connection.execute(select(GROUPS).where(GROUPS.c.id == group))).one_or_none()
    return None if row is None else GroupRecord(**row._mapping)


async def group_by_name(connection: AsyncConnection, name: str) -> GroupRecord | None:
    """Return the group with a name, or None."""
    row = (await connection.execute(select(GROUPS).where(GROUPS.c.name == name))).one_or_none()
    return None if row is None else GroupRecord(**row._mapping)


async def of_user(connection: AsyncConnection, user: str) -> Sequence[GroupRecord]:
    """Return the groups that a user is in, by name."""
    his = select(GROUP_MEMBERS.c.group).where(GROUP_MEMBERS.c.user == user)
    rows = await connection.execute(select(GROUPS).where(GROUPS.c.id.in_(his)).order_by(GROUPS.c.name))
    return [GroupRecord(**row._mapping) for row in rows]


async def remove_group(connection: AsyncConnection, group: str) -> bool:
    """Delete a group with its grants; return whether it was there."""
    return (await connection.execute(delete(GROUPS).where(GROUPS.c.id == group))).rowcount == 1


async def members(connection: AsyncConnection, group: str) -> Sequence[str]:
    """Return the ids of a group's users."""
    found = select(GROUP_MEMBERS.c.user).where(GROUP_MEMBERS.c.group == group).order_by(GROUP_MEMBERS.c.user)
    return (await connection.execute(found)).scalars().all()


async def add_member(connection: AsyncConnection, group: str, user: str) -> None:
    """Put a user into a group, if he is not there. Raises IntegrityError if either is unknown."""
    await insert_missing(connection, GROUP_MEMBERS, {"group": group, "user": user})


async def remove_member(connection: AsyncConnection, group: str, user: str) -> bool:
    """Take a user out of a group; return whether he was there."""
    where = and_(GROUP_MEMBERS.c.group == group, GROUP_MEMBERS.c.user == user)
    return (await connection.execute(delete(GROUP_MEMBERS).where(where))).rowcount == 1


async def add_grant(connection: AsyncConnection, grant: GrantRecord) -> None:
    """Insert a grant. Raises IntegrityError if there is one already, or the subject is unknown."""
    values = {column.name: getattr(grant, column.name) for column in GRANTS.columns}
    await connection.execute(insert(GRANTS).values(values))


async def grants(connection: AsyncConnection, cluster: str | None = None) -> Sequence[GrantRecord]:
    """Return all grants, or those at one cluster, in the order in which they were made."""
    found = select(GRANTS).order_by(GRANTS.c.id)
    if cluster is not None:
        found = found.where(GRANTS.c.cluster == cluster)
    return [_grant(row) for row in await connection.execute(found)]


async def remove_grant(connection: AsyncConnection, grant: str) -> GrantRecord | None:
    """Delete a grant; return it, or None if there was none."""
    row = (
        await connection.execute(delete(GRANTS).where(GRANTS.c.id == grant).returning(GRANTS))
    ).one_or_none()
    return None if row is None else _grant(row)


async def grants_of(connection: AsyncConnection, user: str) -> Mapping[str, frozenset[GrantRole]]:
    """Return what a user was granted, himself, by his groups or with everyone, by cluster."""
    granted = GRANTS.c
    his_groups = select(GROUP_MEMBERS.c.group).where(GROUP_MEMBERS.c.user == user)
    everyone = and_(granted.user.is_(None), granted.group.is_(None))
    his = or_(granted.user == user, granted.group.in_(his_groups), everyone)
    found: dict[str, frozenset[GrantRole]] = {}
    for cluster, role in await connection.execute(select(granted.cluster, granted.role).where(his)):
        found[cluster] = found.get(cluster, frozenset()) | {GrantRole(role)}
    return found
