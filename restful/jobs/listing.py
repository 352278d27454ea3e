"""Listings of jobs, by pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from restful.errors import FieldError, HttpProblem
from restful.jobs import filters
from restful.jobs.cursor import PagePosition
from restful.jobs.pages import Page, RecentPages
from restful.store import jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

    from minicluster.database import Database
    from restful.clusters.access import ClusterAccess
    from restful.clusters.cluster import ServedCluster
    from restful.identity.principal import Principal
    from restful.jobs.cursor import Cursors
    from restful.jobs.pages import ChangesSeen
    from restful.settings import RequestLimits
    from restful.store.jobs import JobRecord


@dataclass(frozen=True, slots=True)
class ListingQuery:
    """What a client asks a listing for, as texts."""

    state: list[str] = field(default_factory=list)
    result: list[str] = field(default_factory=list)
    queue: str = ""
    name: str = ""
    owner: str = ""
    since: float = 0.0
    until: float = 0.0
    limit: int | None = None
    cursor: str = ""


class JobListing:
    """Reads pages."""

    def __init__(
        self, database: Database, access: ClusterAccess, cursors: Cursors, limits: RequestLimits
    ) -> None:
        self._database = database
        self._access = access
        self._cursors = cursors
        self._limits = limits
        self._recent = RecentPages()
        self._sqlite = database.url.startswith("sqlite")

    async def which(
        self, principal: Principal, cluster_name: str, query: ListingQuery, scope: str = "jobs:read"
    ) -> tuple[ServedCluster, filters.Filters]:
        """Return a cluster and whose jobs a query means there. Raises HttpProblem."""
        cluster, scopes = await self._access.cluster(principal, cluster_name, scope)
        owner = filters.owner_of(query.owner, principal.user, everybody=f"{scope}:all" in scopes)
        statuses = filters.statuses_of(filters.words(query.state), filters.words(query.result))
        wanted = filters.Filters(owner, statuses, query.name, query.queue, query.since, query.until)
        return cluster, wanted

    async def page(self, cluster: ServedCluster, wanted: filters.Filters, query: ListingQuery) -> Page:
        """Return a page. Raises HttpProblem "cursor", "invalid"."""
        limit = self._limit(query.limit)
        texts = wanted.texts(cluster.id)
        behind = self._cursors.read(query.cursor, texts) if query.cursor else None
        changes, key = self._changes(cluster), (cluster.id, wanted, behind, limit)
        if changes is not None and (kept := self._recent.get(key, changes)) is not None:
            return kept
        rows = await self._rows(cluster, wanted, behind, limit + 1)
        if len(rows) <= limit:
            found = Page(rows, None)
        else:
            last = rows[limit - 1]
            found = Page(rows[:limit], self._cursors.write(PagePosition(last.t_listed, last.id), texts))
        if changes is not None:
            self._recent.put(key, changes, found)
        return found

    def _changes(self, cluster: ServedCluster) -> ChangesSeen | None:
        """Return what is another value after each change of a cluster's jobs; None: there is none."""
        number = self._database.changes(jobs.channel(cluster.id)) if cluster.cache.current else None
        return None if number is None else (cluster.cache.turn, number)

    async def records(
        self, cluster: ServedCluster, wanted: filters.Filters, behind: PagePosition | None, limit: int
    ) -> list[JobRecord]:
        """Return at most so many jobs behind a position."""
        return [jobs.record(row) for row in await self._rows(cluster, wanted, behind, limit)]

    async def _rows(
        self, cluster: ServedCluster, wanted: filters.Filters, behind: PagePosition | None, limit: int
    ) -> Sequence[Row[Any]]:
        statement, values = filters.page(cluster.id, wanted, behind, limit, sqlite=self._sqlite)
        return await self._database.rows(statement, values, few=filters.reads_few(wanted, limit))

    async def count(self, cluster: ServedCluster, wanted: filters.Filters) -> int:
        """Return how many jobs there are in all."""
        statement, values = filters.count(cluster.id, wanted, sqlite=self._sqlite)
        async with self._database.read() as connection:
            return int((await connection.execute(statement, values)).scalar_one())

    def _limit(self, asked: int | None) -> int:
        if asked is None:
            return self._limits.default_page
        if 1 <= asked <= self._limits.page:
            return asked
        message = f"is 1 to {self._limits.page}, not {asked}"
        raise HttpProblem("invalid", f"limit {message}", (FieldError("limit", message),))
