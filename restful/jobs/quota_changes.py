"""Changes of quotas, by admins: each with its entry in the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import IntegrityError

from minicluster.database import new_id
from restful import audit
from restful.errors import FieldError, HttpProblem
from restful.store import clusters, groups, quotas, users
from restful.store.groups import EVERY_CLUSTER
from restful.store.quotas import QuotaRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.database import Database
    from restful.identity.principal import Principal
    from restful.jobs.quota import Quota


@dataclass(frozen=True, slots=True)
class NewQuota:
    """A quota of a user, of each member of a group, or of everyone if neither is named."""

    cluster: str
    """A cluster's name, or EVERY_CLUSTER: all of them together."""
    limits: Quota
    user: str | None = None
    group: str | None = None


async def create(database: Database, principal: Principal, new: NewQuota, now: float) -> QuotaRecord:
    """Make a quota. Raises HttpProblem "invalid", and "conflict" where there is one for these jobs."""
    made = QuotaRecord(new_id(now), new.cluster, new.limits, new.user, new.group)
    try:
        async with database.write() as connection:
            await _require_subject(connection, made)
            await quotas.add(connection, made)
            await _record(connection, principal, "create", made, now)
            return await existing(connection, made.id)
    except IntegrityError as error:
        words = "There is a quota for these jobs already: change that one."
        raise HttpProblem("conflict", words) from error


async def change(
    database: Database, principal: Principal, quota: str, values: Mapping[str, Any], now: float
) -> QuotaRecord:
    """Change limits of a quota; None takes one away. Raises HttpProblem "not-found"."""
    async with database.write() as connection:
        await existing(connection, quota)
        await quotas.change(connection, quota, values)
        changed = await existing(connection, quota)
        await _record(connection, principal, "change", changed, now)
    return changed


async def remove(database: Database, principal: Principal, quota: str, now: float) -> None:
    """Remove a quota. Raises HttpProblem "not-found"."""
    async with database.write() as connection:
        found = await existing(connection, quota)
        await quotas.remove(connection, quota)
        await _record(connection, principal, "delete", found, now)


async def _require_subject(connection: AsyncConnection, quota: QuotaRecord) -> None:
    """Raise HttpProblem "invalid" where a quota's user, group or cluster is not there."""
    wrong = None
    if quota.user is not None and quota.group is not None:
        wrong = FieldError("/group", "a quota is a user's or a group's")
    elif quota.user is not None and await users.by_id(connection, quota.user) is None:
        wrong = FieldError("/user", "there is no user of this id")
    elif quota.group is not None and await groups.group_by_id(connection, quota.group) is None:
        wrong = FieldError("/group", "there is no group of this id")
    elif quota.cluster != EVERY_CLUSTER and await clusters.by_name(connection, quota.cluster) is None:
        wrong = FieldError("/cluster", f"there is no cluster {quota.cluster[:100]!r}; * is all of them")
    if wrong is not None:
        raise HttpProblem("invalid", f"{wrong.path[1:]}: {wrong.message}", (wrong,))


async def existing(connection: AsyncConnection, quota: str) -> QuotaRecord:
    """Return a quota. Raises HttpProblem "not-found"."""
    found = await quotas.by_id(connection, quota)
    if found is None:
        raise HttpProblem("not-found")
    return found


async def _record(
    connection: AsyncConnection, principal: Principal, action: str, quota: QuotaRecord, now: float
) -> None:
    whose = {"cluster": quota.cluster, "user": quota.user, "group": quota.group}
    detail = audit.fields({**whose, **quota.limits._asdict()})
    entry = audit.by(principal, f"quota.{action}", f"quota:{quota.id}", detail=detail)
    await audit.record(connection, entry, now)
