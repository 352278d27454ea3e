"""The first page: who one is, one's jobs, tokens and password."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Request, Response

from broker_config.formats.jobid import f58, f58plain
from restful.errors import HttpProblem
from restful.jobs.listing import ListingQuery
from restful.page.browser_sessions import BrowserSession, LoggedIn
from restful.page.page_route import PageRoute
from restful.page.responses import page, words
from restful.routes.access import identities_of
from restful.routes.asker import services_of
from restful.services import Services
from restful.store import tokens, users
from restful.store.jobs import JobRecord
from restful.store.tokens import CredentialKind

router = APIRouter(route_class=PageRoute, include_in_schema=False)

LATEST = 50
"""Jobs that are listed."""
EMPTY_JOB = {"command": "", "tasks": "1", "nodes": "", "name": "", "cluster": ""}


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """A form that was refused: it is shown again, with what was wrong."""

    section: str = ""
    """"submit", "tokens" or "password"."""
    problem: HttpProblem | None = None
    job: Mapping[str, str] = field(default_factory=lambda: EMPTY_JOB)
    """The fields of the form for a job."""
    key: str = ""
    """The key under which that job would have been submitted: sent again, it is the same job."""


@router.get("/")
async def home(request: Request, session: LoggedIn) -> Response:
    """Show all of it."""
    return await home_page(request, session)


async def home_page(
    request: Request, session: BrowserSession, refused: RefusedForm | None = None
) -> Response:
    """Return the first page, with a form that was refused."""
    refused = refused or RefusedForm()
    services, identities, principal = services_of(request), identities_of(request), session.principal
    async with identities.database.read() as connection:
        user = await users.by_id(connection, principal.user)
        linked = await users.linked(connection, principal.user)
        own = await tokens.of_user(connection, principal.user, CredentialKind.PERSONAL)
    clusters = [each.name for each in await services.access.usable(principal)]
    problem = refused.problem
    values = {
        "principal": principal,
        "csrf": session.csrf,
        "may_log_out": session.record is not None,
        "has_password": user is not None and user.password is not None,
        "linked": linked,
        "tokens": [each for each in own if each.good(identities.now())],
        "scopes": sorted(principal.scopes),
        "days": int(identities.settings.token_lifetime // 86_400),
        "days_max": int(identities.settings.token_lifetime_max // 86_400),
        "password_length": identities.settings.password_length_min,
        "clusters": clusters,
        "jobs": await latest_jobs(services, session, clusters),
        "key": refused.key or secrets.token_urlsafe(16),
        "job": refused.job,
        "refused": refused.section,
        "problem": words(problem) if problem is not None else [],
    }
    status, headers = (problem.status, problem.headers) if problem is not None else (200, {})
    return page("home.html", values, status, headers)


async def latest_jobs(
    services: Services, session: BrowserSession, clusters: list[str]
) -> list[dict[str, Any]]:
    """Return one's latest jobs over all clusters, latest first."""
    found: list[tuple[JobRecord, str]] = []
    for cluster in clusters:
        try:
            query = ListingQuery(limit=min(LATEST, services.settings.requests.page))
            listed = await services.jobs.page(session.principal, cluster, query)
        except HttpProblem as problem:
            if problem.type not in {"not-found", "forbidden"}:
                raise
            continue  # it went, or the grant did, since the clusters were listed
        found += [(record, cluster) for record in listed.records]
    found.sort(key=lambda each: (each[0].t_submit, each[0].id), reverse=True)
    return [_row(record, cluster) for record, cluster in found[:LATEST]]


def _row(record: JobRecord, cluster: str) -> dict[str, Any]:
    result = record.result
    return {
        "name": record.name,
        "id": f58(record.id),
        "plain": f58plain(record.id),
        "state": record.state.name if result is None else result.name,
        "cluster": cluster,
        "submitted": record.t_submit,
    }
