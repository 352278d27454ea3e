"""Quotas: of a user, of each member of a group, or of everyone; at one cluster, or over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from restful.jobs.quota import Quota
from restful.store.groups import EVERY_CLUSTER, GROUP_MEMBERS, GROUPS
from restful.store.metadata import METADATA
from restful.store.users import USERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Select
    from sqlalchemy.ext.asyncio import AsyncConnection

QUOTAS = Table(
    "quota",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("cluster", String(200), nullable=False),
    Column("user", String(26), ForeignKey("user.id", ondelete="CASCADE"), index=True),
    Column("group", String(26), ForeignKey("group.id", ondelete="CASCADE"), index=True),
    Column("jobs", Integer),
    Column("queued_jobs", Integer),
    Column("nodes", Integer),
    Column("node_seconds", Double),
    Column("window", Double, nullable=False),
    CheckConstraint('"user" IS NULL OR "group" IS NULL', name="subject"),
)
_USER, _GROUP = QUOTAS.c.user, QUOTAS.c.group
for _name, _columns, _condition in (
    ("uq_quota_user", [QUOTAS.c.cluster, _USER], _USER.is_not(None)),
    ("uq_quota_group", [QUOTAS.c.cluster, _GROUP], _GROUP.is_not(None)),
    ("uq_quota_everyone", [QUOTAS.c.cluster], and_(_USER.is_(None), _GROUP.is_(None))),
):
    Index(_name, *_columns, unique=True, sqlite_where=_condition, postgresql_where=_condition)


# Statements that each submit has are made once.
_ALL = (
    select(QUOTAS, func.coalesce(USERS.c.name, GROUPS.c.name).label("name"))
    .select_from(QUOTAS.outerjoin(USERS, USERS.c.id == _USER).outerjoin(GROUPS, GROUPS.c.id == _GROUP))
    .order_by(QUOTAS.c.id)
)
_HIS_GROUPS = select(GROUP_MEMBERS.c.group).where(GROUP_MEMBERS.c.user == bindparam("user"))
_APPLYING = _ALL.where(
    or_(bindparam("user") == _USER, _GROUP.in_(_HIS_GROUPS), and_(_USER.is_(None), _GROUP.is_(None)))
)


@dataclass(frozen=True, slots=True)
class QuotaRecord:
    """A quota as stored; with neither user nor group it is everyone's."""

    id: str
    cluster: str
    """A cluster's name, or EVERY_CLUSTER: then what is used at all of them counts together."""
    limits: Quota
    user: str | None = None
    group: str | None = None
    name: str | None = None
    """The user's or the group's, where it was read."""


class AppliedQuota(NamedTuple):
    """A quota that a user's jobs are held to."""

    cluster: str
    """As in QuotaRecord."""
    origin: str
    """Whose it is: USER, GROUP, EVERYONE or SERVICE."""
    group: str | None
    """The group's name."""
    limits: Quota


USER, GROUP, EVERYONE = "user", "group", "everyone"
SERVICE = "service"
"""The origin of a limit from the service's settings."""
_PRECEDENCE = (USER, GROUP, EVERYONE)


async def add(connection: AsyncConnection, quota: QuotaRecord) -> None:
    """Insert a quota. Raises IntegrityError if there is one already, or the subject is unknown."""
    key = {"id": quota.id, "cluster": quota.cluster, "user": quota.user, "group": quota.group}
    await connection.execute(insert(QUOTAS).values({**key, **quota.limits._asdict()}))


async def change(connection: AsyncConnection, quota: str, values: Mapping[str, Any]) -> None:
    """Change limits of a quota; None takes one away."""
    if values:
        await connection.execute(update(QUOTAS).where(QUOTAS.c.id == quota).values(dict(values)))


async def remove(connection: AsyncConnection, quota: str) -> None:
    """Delete a quota."""
    await connection.execute(delete(QUOTAS).where(QUOTAS.c.id == quota))


async def by_id(connection: AsyncConnection, quota: str) -> QuotaRecord | None:
    """Return a quota, or None."""
    return next(iter(await _records(connection, _ALL.where(QUOTAS.c.id == quota))), None)


async def quotas(connection: AsyncConnection, cluster: str | None = None) -> Sequence[QuotaRecord]:
    """Return all quotas, or those at one cluster, in the order in which they were made."""
    return await _records(connection, _ALL if cluster is None else _ALL.where(QUOTAS.c.cluster == cluster))


async def applying(
    connection: AsyncConnection, user: str, clusters: Iterable[str]
) -> dict[str, list[AppliedQuota]]:
    """Return by cluster's name the quotas that a user's jobs there are held to.

    For each cluster, and again for all clusters together: the user's own; without one, those of all his
    groups; without any, everyone's.
    """
    found: dict[str, dict[str, list[AppliedQuota]]] = {}
    for each in await _records(connection, _APPLYING, user=user):
        origin = USER if each.user is not None else EVERYONE if each.group is None else GROUP
        applied = AppliedQuota(each.cluster, origin, each.name if origin == GROUP else None, each.limits)
        found.setdefault(each.cluster, {}).setdefault(origin, []).append(applied)

    def strongest(cluster: str) -> list[AppliedQuota]:
        by_origin = found.get(cluster, {})
        return next((by_origin[each] for each in _PRECEDENCE if each in by_origin), [])

    everywhere = strongest(EVERY_CLUSTER)
    return {name: [*everywhere, *strongest(name)] for name in clusters}


async def _records(connection: AsyncConnection, found: Select[Any], **given: str) -> list[QuotaRecord]:
    return [
        QuotaRecord(
            row.id,
            row.cluster,
            Quota(*(getattr(row, each) for each in Quota._fields)),
            row.user,
            row.group,
            row.name,
        )
        for row in await connection.execute(found, given)
    ]
