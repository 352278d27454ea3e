"""Changes of groups and grants, by admins: each with its entry in the audit log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from restful import audit
from restful.errors import FieldError, HttpProblem
from restful.identity.user_changes import name_taken
from restful.store import groups
from restful.store.groups import GrantRecord, GroupRecord

if TYPE_CHECKING:
    from restful.identity.identities import Identities
    from restful.identity.principal import Principal
    from restful.identity.scopes import GrantRole


@dataclass(frozen=True, slots=True)
class NewGrant:
    """A grant to a user or a group, by their ids; to everyone if neither is named."""

    cluster: str
    role: GrantRole
    user: str | None = None
    group: str | None = None


async def create_group(identities: Identities, principal: Principal, name: str) -> GroupRecord:
    """Make a group. Raises the problem `conflict` if the name is taken."""
    group = GroupRecord(identities.new_id(), name, identities.now())
    try:
        async with identities.change() as connection:
            await groups.add_group(connection, group)
            detail = audit.fields({"name": group.name})
            entry = audit.by(principal, "group.create", f"group:{group.id}", detail=detail)
            await audit.record(connection, entry, identities.now())
    except IntegrityError as error:
        raise name_taken(name) from error
    return group


async def remove_group(identities: Identities, principal: Principal, group: str) -> None:
    """Delete a group with its grants. Raises the problem `not-found`."""
    async with identities.change() as connection:
        if not await groups.remove_group(connection, group):
            raise HttpProblem("not-found")
        entry = audit.by(principal, "group.delete", f"group:{group}")
        await audit.record(connection, entry, identities.now())


async def add_member(identities: Identities, principal: Principal, group: str, user: str) -> None:
    """Put a user into a group. Raises the problem `not-found` if either is not there."""
    try:
        async with identities.change() as connection:
            await groups.add_member(connection, group, user)
            detail = audit.fields({"user": user})
            entry = audit.by(principal, "group.add", f"group:{group}", detail=detail)
            await audit.record(connection, entry, identities.now())
    except IntegrityError as error:
        raise HttpProblem("not-found") from error


async def remove_member(identities: Identities, principal: Principal, group: str, user: str) -> None:
    """Take a user out of a group. Raises the problem `not-found` if he is not in it."""
    async with identities.change() as connection:
        if not await groups.remove_member(connection, group, user):
            raise HttpProblem("not-found")
        detail = audit.fields({"user": user})
        entry = audit.by(principal, "group.remove", f"group:{group}", detail=detail)
        await audit.record(connection, entry, identities.now())


async def create_grant(identities: Identities, principal: Principal, new: NewGrant) -> GrantRecord:
    """Let a user, a group or everyone use a cluster, or operate it.

    Raises the problems `invalid` for a grant to a user and a group, and `conflict` if there is such a grant,
    or no such user or group.
    """
    if new.user is not None and new.group is not None:
        error = FieldError("/group", "a grant is a user's or a group's")
        raise HttpProblem("invalid", "A field of the grant is not right.", (error,))
    now = identities.now()
    grant = GrantRecord(identities.new_id(), new.cluster, new.role, now, new.user, new.group)
    try:
        async with identities.change() as connection:
            await groups.add_grant(connection, grant)
            entry = audit.by(principal, "grant.create", f"grant:{grant.id}", detail=audit.fields(asdict(new)))
            await audit.record(connection, entry, now)
    except IntegrityError as error:
        raise HttpProblem("conflict", "There is such a grant already, or no such user or group.") from error
    return grant


async def remove_grant(identities: Identities, principal: Principal, grant: str) -> None:
    """Take a grant back. Raises the problem `not-found`."""
    async with identities.change() as connection:
        found = await groups.remove_grant(connection, grant)
        if found is None:
            raise HttpProblem("not-found")
        detail = audit.fields({"cluster": found.cluster, "user": found.user, "group": found.group})
        entry = audit.by(principal, "grant.delete", f"grant:{grant}", detail=detail)
        await audit.record(connection, entry, identities.now())
