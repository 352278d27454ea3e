"""What requests of the matrix are about: objects of one's own, of somebody else, and none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from broker_config.formats.jobid import f58plain
from restful.clusters.spec import Tenancy
from restful.identity import devices
from restful.identity.scopes import GrantRole
from restful.jobs.quota import Quota
from restful.store import groups, quotas, users
from restful.store.groups import GrantRecord, GroupRecord
from restful.store.quotas import QuotaRecord
from restful.store.users import UserKind
from tests.restful.authorization.memory_instance import HOST
from tests.restful.authorization.service import CLOSED, FIRST_JOB, SHARED, own_cluster
from tests.restful.authorization.users import CALLER, OTHER, add_session, add_token

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from restful.store.users import UserRecord
    from tests.restful.authorization.service import Everything

ABSENT_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
ABSENT_JOB = FIRST_JOB + 4000


class Whose(StrEnum):
    """Which object a request is about."""

    OWN = "own"
    OTHER = "other"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Objects:
    """Makes objects as they are needed: what is deleted in one request is not there in the next."""

    here: Everything
    tenancy: Tenancy
    kept: dict[tuple[str, str], str] = field(default_factory=dict)
    """What was made, until it may have been used up."""

    async def chosen(self, names: frozenset[str], user: str, whose: Whose) -> dict[str, str]:
        """Return the values of placeholders."""
        found = self._at_cluster(names, user, whose)
        for name in sorted(names - set(found)):
            found[name] = await self._made(name, OTHER if whose is Whose.OTHER else user, whose)
        if {"group", "user"} <= names and whose is not Whose.ABSENT:
            async with self.here.identities.database.write() as connection:
                await groups.add_member(connection, found["group"], found["user"])
        return found

    def _at_cluster(self, names: frozenset[str], user: str, whose: Whose) -> dict[str, str]:
        """Return a cluster, and what is looked for there.

        Where users have one in common, that is not what differs, if something there is looked for.
        """
        whom = OTHER if whose is Whose.OTHER else user
        inner = names & {"id", "jobid"}
        if self.tenancy is Tenancy.SHARED:
            cluster = SHARED
            if whose is Whose.OTHER and not inner:
                cluster = CLOSED
            if whose is Whose.ABSENT and not inner:
                cluster = "absent"
        else:
            cluster = own_cluster("none" if whose is Whose.ABSENT else whom)
        job = f58plain(ABSENT_JOB) if whose is Whose.ABSENT else self.here.job_of[cluster, whom]
        known = {
            "cluster": cluster, "id": job, "jobid": job, "host": HOST, "queue": "default", "what": "delete",
        }  # fmt: skip
        return {name: known[name] for name in names & set(known)}

    async def _made(self, name: str, user: str, whose: Whose) -> str:
        make = _MAKERS[name]
        if whose is Whose.ABSENT and name not in {"new", "code", "someone"}:
            return ABSENT_ID[:-5] + f"{name:X<5.5}".upper()  # two that are absent differ
        if (name, user) not in self.kept:
            self.kept[name, user] = await make(self.here, self.here.users[user])
        return self.kept[name, user]


async def _token(here: Everything, user: UserRecord) -> str:
    return (await add_token(here.identities, user))[0]


async def _session(here: Everything, user: UserRecord) -> str:
    return (await add_session(here.identities, user)).session


async def _new_user(here: Everything, _: UserRecord, kind: UserKind = UserKind.USER) -> str:
    identities = here.identities
    new = identities.new_id()
    user = replace(here.users["carol"], id=new, name=f"u{new.lower()}", kind=kind)
    async with identities.database.write() as connection:
        await users.add(connection, user)
    return new


async def _new_client(here: Everything, user: UserRecord) -> str:
    return await _new_user(here, user, UserKind.SERVICE)


async def _new_group(here: Everything, _: UserRecord) -> str:
    new = here.identities.new_id()
    async with here.identities.database.write() as connection:
        await groups.add_group(connection, GroupRecord(new, f"g{new.lower()}", here.clock()))
    return new


async def _new_grant(here: Everything, _: UserRecord) -> str:
    new = here.identities.new_id()
    grant = GrantRecord(new, f"c{new.lower()}", GrantRole.USE, here.clock(), here.users["carol"].id)
    async with here.identities.database.write() as connection:
        await groups.add_grant(connection, grant)
    return new


async def _new_quota(here: Everything, _: UserRecord) -> str:
    new = here.identities.new_id()
    async with here.identities.database.write() as connection:
        await quotas.add(connection, QuotaRecord(new, f"c{new.lower()}", Quota(jobs=1)))
    return new


async def _new_name(here: Everything, _: UserRecord) -> str:
    return f"n{here.identities.new_id().lower()}"


async def _code(here: Everything, _: UserRecord) -> str:
    return (await devices.start(here.identities, None, CALLER)).user_code


_MAKERS: dict[str, Callable[[Everything, UserRecord], Awaitable[str]]] = {
    "token": _token,
    "session": _session,
    "user": _new_user,
    "client": _new_client,
    "group": _new_group,
    "grant": _new_grant,
    "quota": _new_quota,
    "someone": _new_user,
    "new": _new_name,
    "code": _code,
}
OBJECTS = frozenset(_MAKERS) - {"new", "code", "someone"} | {"cluster", "id", "jobid", "host", "queue"}
"""What there is of one's own, of others, and not at all."""
