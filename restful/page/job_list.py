"""The list of jobs: filters, pages, and the cancel of chosen ones."""

import hashlib
from collections.abc import Iterable
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from restful.errors import FieldError, HttpProblem
from restful.identity.identities import Identities
from restful.jobs.listing import ListingQuery
from restful.page import forms
from restful.page.browser_sessions import BrowserSession, LoggedIn, PostedHere
from restful.page.job_words import RESULTS, ShownJob
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other, words
from restful.routes.access import identities_of
from restful.routes.admission import services_of
from restful.routes.job_answers import owner_names
from restful.routes.parameters import NO_NUL
from restful.services import Services
from restful.store import users
from restful.store.jobs import JobRecord

router = APIRouter(route_class=PageRoute, include_in_schema=False)

PAGE = 50
"""Jobs on one page."""
STATES = {
    "": "any",
    "active": "not ended",
    "pending": "waiting",
    "running": "running",
    "inactive": "ended",
    **{str(result.name).lower(): words for result, words in RESULTS.items()},
}
"""The choices of the filter, in its order; those of results are below."""
OWNERS = {"": "me", "*": "everybody", "nobody": "nobody here"}
_RESULT_NAMES = frozenset(str(result.name).lower() for result in RESULTS)


class JobFilters(BaseModel):
    """The query of the list."""

    model_config = ConfigDict(frozen=True)

    cluster: str = Field("", max_length=255, pattern=NO_NUL)
    state: str = Field("", max_length=255, pattern=NO_NUL)
    queue: str = Field("", max_length=255, pattern=NO_NUL)
    name: str = Field("", max_length=255, pattern=NO_NUL)
    owner: str = Field("", max_length=64, pattern=NO_NUL)
    cursor: str = Field("", max_length=200, pattern=NO_NUL)

    def query(self, **changed: object) -> str:
        """Return the query that asks for the same, with changes."""
        fields = {**{name: getattr(self, name) for name in JobFilters.model_fields}, **changed}
        return urlencode({name: value for name, value in fields.items() if value != ""})

    def listing(self, owner: str) -> ListingQuery:
        """Return what is asked of the listing; `owner` is a user's id."""
        by_result = self.state in _RESULT_NAMES
        return ListingQuery(
            state=[self.state] if self.state and not by_result else [],
            result=[self.state] if by_result else [],
            queue=self.queue,
            name=self.name,
            owner=owner,
            limit=PAGE,
            cursor=self.cursor,
        )


class ListQuery(JobFilters):
    """The same on the way back from a cancel: how many chosen jobs were cancelled, and how many not."""

    cancelled: int | None = Field(None, ge=0, le=1000)
    left: int = Field(0, ge=0, le=1000)


@router.get("/")
async def first() -> Response:
    """Lead to one's jobs."""
    return see_other("/jobs")


@router.get("/jobs")
async def job_list(request: Request, session: LoggedIn, query: Annotated[ListQuery, Query()]) -> Response:
    """Show one page of jobs."""
    services, principal = services_of(request), session.principal
    clusters = [each.name for each in await services.access.usable(principal)]
    if not clusters and not query.cluster:
        return page("no_cluster.html", {"session": session, "title": "Jobs", "path": "/jobs"})
    query = query.model_copy(update={"cluster": query.cluster or clusters[0]})
    _, scopes = await services.access.cluster(principal, query.cluster, "jobs:read")
    everybody = "jobs:read:all" in scopes
    values: dict[str, Any] = {
        "session": session,
        "clusters": clusters,
        "filters": query,
        "states": STATES,
        "everybody": everybody,
        "owners": {**OWNERS, query.owner: OWNERS.get(query.owner, query.owner)},
        "queues": await queue_names(services, session, query.cluster),
    }
    try:
        owner = await owner_of(identities_of(request), session, query.owner, everybody=everybody)
        listed = await services.jobs.page(principal, query.cluster, query.listing(owner))
    except HttpProblem as problem:
        if problem.status >= 500:
            raise
        values |= {"jobs": [], "next": None, "version": "", "problem": words(problem)}
        return page("jobs.html", values, problem.status, problem.headers)
    jobs = await shown(request, session, query.cluster, listed.records, scopes)
    values |= {"jobs": jobs, "next": listed.next, "version": version_of(listed.records), "problem": []}
    return page("jobs.html", values)


@router.post("/jobs/cancel")
async def cancel(request: Request, sent: PostedHere) -> Response:
    """Cancel one job, or those that are chosen."""
    form = sent.form
    filters = forms.validated(JobFilters, {name: form.one(name) for name in JobFilters.model_fields})
    one = form.one("one")
    which = [one] if one else form.many("job")
    jobs = services_of(request).jobs
    outcomes = await jobs.cancel_many(sent.session.principal, filters.cluster, which) if which else []
    cancelled = sum(each.status == 202 for each in outcomes)
    return see_other(f"/jobs?{filters.query(cancelled=cancelled, left=len(outcomes) - cancelled)}")


@router.get("/jobs/cancel")
async def again() -> Response:
    """Show the list to who comes here without a form."""
    return see_other("/jobs")


async def owner_of(identities: Identities, session: BrowserSession, asked: str, *, everybody: bool) -> str:
    """Return the id of the user whose jobs are asked for by his name, `*` or `nobody`. Raises HttpProblem."""
    if asked in OWNERS or not everybody or asked == session.principal.name:
        return session.principal.user if asked == session.principal.name else asked
    async with identities.database.read() as connection:
        found = await users.by_name(connection, asked)
    if found is None:
        message = f"there is no user {asked!r}"
        raise HttpProblem("invalid", message, (FieldError("owner", message),))
    return found.id


async def queue_names(services: Services, session: BrowserSession, cluster: str) -> list[str]:
    """Return the names of a cluster's queues; none where they have no names, or nobody answers."""
    try:
        snapshot, _ = await services.views.queues(session.principal, cluster)
    except HttpProblem:
        return []
    return [each.name for each in snapshot.queues if each.name]


async def shown(
    request: Request,
    session: BrowserSession,
    cluster: str,
    records: Iterable[JobRecord],
    scopes: frozenset[str],
) -> list[ShownJob]:
    """Return jobs as pages show them."""
    now, found = services_of(request).now(), list(records)
    names = await owner_names(request, {each.owner for each in found})

    def one(record: JobRecord) -> ShownJob:
        owner = names.get(record.owner, record.owner)  # one who is gone keeps his id
        return ShownJob(record, cluster, owner, scopes, record.owner == session.principal.user, now)

    return [one(each) for each in found]


def version_of(what: object) -> str:
    """Return what changes with something: a browser does not replace a part that has stayed the same."""
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]
