"""News that jobs have changed, for the list of jobs: a browser then asks for the list again.

An event has no job in it, and comes once the list has what happened, twice a second at most. So a burst of
changes is one new list, and no list is without the last change.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from minicluster.instance.records import Job, JobChange
from restful.errors import HttpProblem
from restful.jobs.output import sse
from restful.jobs.output.endings import EndReason, FeedEnd
from restful.jobs.output.entries import FeedEntry
from restful.jobs.output.positions import START
from restful.jobs.output.responses import FeedReader
from restful.page.browser_sessions import BrowserSession, LoggedIn
from restful.page.job_list import JobFilters, owner_of
from restful.page.page_route import PageRoute
from restful.page.page_stream import stream
from restful.routes.access import identities_of
from restful.routes.admission import services_of
from restful.services import Services
from restful.store import jobs as stored
from restful.store.jobs import JobRecord

Load = Callable[[Sequence[int]], Awaitable[Mapping[int, JobRecord]]]
"""Returns what the list has of jobs, by their ids."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)

INTERVAL = 0.5
"""Seconds between two events at least: a list takes a browser a fraction of that."""
POLL_INTERVAL = 0.1
"""Seconds between two questions whether the list has a change."""
MAX_POLLS = 50
"""Questions for one event; then the browser asks for the list as it is."""


@router.get("/jobs/live")
async def ticks(request: Request, session: LoggedIn, filters: Annotated[JobFilters, Query()]) -> Response:
    """Send an event now, and one after each change of a job that the list may have."""
    services = services_of(request)
    everybody = await _check(request, session, filters)
    found = await services.following.followed_cluster(session.principal, filters.cluster)

    load = _loader(services, filters.cluster)
    user = None if everybody else session.principal.user

    @contextlib.asynccontextmanager
    async def follow() -> AsyncIterator[ListedChanges]:
        key = ("changes", found.key)
        async with services.streams.hub.follow(key, found.changes, START, found.owner) as reader:
            yield ListedChanges(reader, load, user)

    async def check(again: BrowserSession) -> None:
        await _check(request, again, filters)

    form = TickEncoder(services.streams.limits.retry_delay)
    return stream(request, session, form, follow, check)


async def _check(request: Request, session: BrowserSession, filters: JobFilters) -> bool:
    """Return whether others' jobs are asked for. Raises HttpProblem where somebody may not see them."""
    access = services_of(request).access
    _, scopes = await access.cluster(session.principal, filters.cluster, "jobs:read")
    everybody = "jobs:read:all" in scopes
    owner = await owner_of(identities_of(request), session, filters.owner, everybody=everybody)
    others = owner not in ("", session.principal.user)
    if others and not everybody:
        raise HttpProblem("forbidden", "Others' jobs need the scope jobs:read:all.")
    return others


def _loader(services: Services, name: str) -> Load:
    cluster = services.clusters.get(name)

    async def load(ids: Sequence[int]) -> Mapping[int, JobRecord]:
        if cluster is None:
            return {}
        async with services.database.read() as connection:
            return await stored.by_ids(connection, cluster.id, cluster.row.instance, ids)

    return load


class ListedChanges:
    """A reader of changes who gets them once the list has them; the fields are those of Reader.

    The list is a projection, which is behind the instance by a fraction of a second.
    """

    def __init__(
        self,
        reader: FeedReader[JobChange],
        load: Load,
        user: str | None,
        interval: float = INTERVAL,
        poll_interval: float = POLL_INTERVAL,
    ) -> None:
        self._reader = reader
        self._load = load
        self._user = user  # whose jobs; None: everybody's
        self._intervals = interval, poll_interval
        self.end: FeedEnd | None = None
        self.lapsed = reader.lapsed
        self.opened = reader.opened

    @property
    def failure(self) -> FeedEnd | None:
        """How the feed ended, where it did."""
        return self._reader.failure

    async def batch(self, timeout: float) -> tuple[FeedEntry[JobChange], ...] | None:
        """Wait for the next changes, as Reader does; they come as one entry."""
        entries = await self._reader.batch(timeout)
        if not entries:
            self.end = self._reader.end
            return entries
        await asyncio.sleep(self._intervals[0])
        items = [item for entry in entries for item in entry.items]
        jobs = {item.job.id: item.job for item in items if item.job is not None}
        try:
            records = await self._listed(jobs)
        except Exception:  # noqa: BLE001 - a database's
            self.end = FeedEnd(EndReason.AWAY)
            return None
        seen = tuple(item for item in items if item.job is not None and self._sees(records.get(item.job.id)))
        return (FeedEntry(entries[-1].sequence, seen, 0),)

    async def _listed(self, jobs: Mapping[int, Job]) -> Mapping[int, JobRecord]:
        """Return what the list has, once it is not behind."""
        records: Mapping[int, JobRecord] = {}
        for _ in range(MAX_POLLS if jobs else 0):
            records = await self._load(list(jobs))
            if all(each in records and records[each].state >= job.state for each, job in jobs.items()):
                break
            await asyncio.sleep(self._intervals[1])
        return records

    def _sees(self, record: JobRecord | None) -> bool:
        return self._user is None or record is None or record.owner == self._user


class TickEncoder:
    """An event `jobs` for the first entry, and for each one that has a change."""

    media_type = sse.MEDIA_TYPE
    comment = sse.COMMENT
    marks_its_end = True

    def __init__(self, retry_delay: float) -> None:
        self._retry_delay = retry_delay
        self._begun = False

    def start(self) -> bytes:
        """Return after how long to connect again."""
        return sse.retry(self._retry_delay)

    def entry(self, entry: FeedEntry[JobChange]) -> Iterator[bytes]:
        """Yield at most one event. A browser drops one without data."""
        if entry.items or not self._begun:
            self._begun = True
            yield sse.event(str(len(entry.items)), name="jobs")

    def end(self, end: FeedEnd) -> bytes:  # noqa: ARG002 - as the forms have it
        """Nothing."""
        return b""
