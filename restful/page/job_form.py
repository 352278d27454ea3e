"""Submit a job by a form."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from broker_config.formats.jobid import f58plain
from restful.errors import HttpProblem
from restful.page import submission_form
from restful.page.browser_sessions import BrowserSession, LoggedIn, PostedHere
from restful.page.job_list import queue_names
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other, segment
from restful.routes.admission import services_of
from restful.routes.jobs import MAX_KEY
from restful.routes.parameters import NO_NUL

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class JobForm:
    """What the form is shown with."""

    cluster: str = ""
    filled: Mapping[str, str] = field(default_factory=submission_form.empty)
    problem: HttpProblem | None = None
    """Why it was refused."""
    key: str = ""
    """The key under which the job would have been submitted: sent again, it is the same job."""
    feasible: bool | None = None
    """What a check has found; None: nobody asked."""
    reason: str = ""
    """Why the job is not feasible."""


@router.get("/jobs/new")
async def empty_form(
    request: Request, session: LoggedIn, cluster: Annotated[str, Query(max_length=255, pattern=NO_NUL)] = ""
) -> Response:
    """Show the form."""
    return await form_page(request, session, JobForm(cluster))


@router.post("/jobs/new")
async def submit(request: Request, sent: PostedHere) -> Response:
    """Submit a job, once for each form that was shown; or only check whether it could run."""
    form, key, jobs = sent.form, sent.form.one("key"), services_of(request).jobs
    cluster, filled = form.one("cluster"), submission_form.texts(form)
    try:
        _require_key(key)
        submission = submission_form.submission(filled)
        if form.one("check"):
            found = await jobs.validate(sent.session.principal, cluster, submission)
            shown = JobForm(cluster, filled, None, key, found.feasible, found.reason)
            return await form_page(request, sent.session, shown)
        submitted = await jobs.submit(sent.session.principal, cluster, submission, key)
    except HttpProblem as problem:
        # Where nobody knows what became of it, sending the form again must not make another job.
        same = key if problem.status >= 500 or problem.type == "under-way" else ""
        return await form_page(request, sent.session, JobForm(cluster, filled, problem, same))
    return see_other(f"/jobs/{segment(cluster)}/{f58plain(submitted.id)}")


async def form_page(request: Request, session: BrowserSession, form: JobForm) -> Response:
    """Return the page with the form."""
    services = services_of(request)
    clusters = [each.name for each in await services.access.usable(session.principal)]
    if not clusters:
        return page("no_cluster.html", {"session": session, "title": "Submit a job", "path": "/jobs/new"})
    cluster = form.cluster if form.cluster in clusters else clusters[0]
    fields, errors = submission_form.fields(), submission_form.errors(form.problem)
    first = [each for name in submission_form.FIRST for each in fields if each.name == name]
    values: dict[str, Any] = {
        "session": session,
        "form": form,
        "cluster": cluster,
        "clusters": clusters,
        "queues": await queue_names(services, session, cluster),
        "first": first,
        "more": [each for each in fields if each not in first],
        "labels": {each.name: each.label for each in fields},
        "errors": errors,
        "open": any(name not in submission_form.FIRST for name in _noteworthy(form, errors)),
        "key": form.key or secrets.token_urlsafe(16),
    }
    problem = form.problem
    status, headers = (problem.status, problem.headers) if problem is not None else (200, {})
    return page("job_form.html", values, status, headers)


def _noteworthy(form: JobForm, errors: Mapping[str, list[str]]) -> set[str]:
    """Return the fields that were filled in, or are not right."""
    return {name for name, text in form.filled.items() if text} | {name for name in errors if name}


def _require_key(key: str) -> None:
    if not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        raise HttpProblem("malformed", "the form has no key: load the page again")
