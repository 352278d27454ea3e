"""What users' jobs have used, for those who may see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from restful.errors import HttpProblem
from restful.identity.principal import Role
from restful.store import usage

if TYPE_CHECKING:
    from minicluster.database import Database
    from restful.clusters.access import ClusterAccess
    from restful.identity.principal import Principal
    from restful.store.usage import Sum

EVERYBODY = "*"
READ_ALL = "jobs:read:all"
OTHERS = f"user: others' use needs the scope {READ_ALL}"


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """Which use is meant."""

    by: str
    """"user" or "day"."""
    days: tuple[int, int]
    """The first and the last one, in days since 1970, in UTC."""
    user: str = ""
    """A user's id, or EVERYBODY; empty: the one who asks."""
    cluster: str = ""
    """A cluster's name; empty: all."""


class UsageReport:
    """Adds it up."""

    def __init__(self, database: Database, access: ClusterAccess) -> None:
        self._database = database
        self._access = access

    async def sums(self, principal: Principal, query: UsageQuery) -> list[Sum]:
        """Return node-seconds and core-seconds by user or by day.

        Raises HttpProblem "forbidden" for others' use without the scope for it, "not-found" for a cluster.
        """
        others = query.user not in ("", principal.user)
        if others and not principal.may(READ_ALL):
            raise HttpProblem("forbidden", OTHERS)
        where = await self._clusters(principal, query.cluster, others=others)
        whose = None if query.user == EVERYBODY else query.user or principal.user
        async with self._database.read() as connection:
            return await usage.sums(connection, query.by, whose, where, query.days)

    async def _clusters(self, principal: Principal, cluster: str, *, others: bool) -> list[str] | None:
        """Return the ids of the clusters whose use is asked for; None: of all that there ever were.

        What an operator may know of others depends on the cluster, as with their jobs.
        """
        if cluster:
            found, scopes = await self._access.cluster(principal, cluster, "jobs:read")
            if others and READ_ALL not in scopes:
                raise HttpProblem("forbidden", OTHERS)
            return [found.id]
        if not others or principal.role is Role.ADMIN:
            return None
        usable = await self._access.usable(principal)
        return [each.id for each in usable if READ_ALL in await self._access.scopes(principal, each)]
