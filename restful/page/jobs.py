"""Submit a job by a form, and read a job's output as text."""

import shlex

from fastapi import APIRouter, Request, Response

from restful.errors import FieldError, HttpProblem
from restful.jobs.output import text_now
from restful.jobs.schema import Submission
from restful.page import forms
from restful.page.browser_sessions import LoggedIn, PostedHere
from restful.page.forms import SentForm
from restful.page.home import EMPTY_JOB, RefusedForm, home_page
from restful.page.page_route import PageRoute
from restful.page.responses import HEADERS, see_other
from restful.routes.asker import services_of
from restful.routes.jobs import MAX_KEY

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MAX_BYTES = 8 << 20
"""Of output on one page, which is in memory as a whole."""
CUT = f"\n[This is the beginning: the output has more than {MAX_BYTES >> 20} MiB.]\n"


@router.post("/jobs")
async def submit(request: Request, sent: PostedHere) -> Response:
    """Submit a job, once for each form that was shown."""
    form, key = sent.form, sent.form.one("key")
    try:
        _require_key(key)
        await services_of(request).jobs.submit(
            sent.session.principal, form.one("cluster"), _submission(form), key
        )
    except HttpProblem as problem:
        shown = {name: form.one(name) for name in EMPTY_JOB}
        # Where nobody knows what became of it, sending the form again must not make another job.
        same = key if problem.status >= 500 or problem.type == "under-way" else ""
        return await home_page(request, sent.session, RefusedForm("submit", problem, shown, same))
    return see_other("/#jobs")


@router.get("/jobs")
async def again() -> Response:
    """Show the first page to who comes here without a form."""
    return see_other("/")


@router.get("/jobs/{cluster}/{jobid}/output")
async def output(request: Request, cluster: str, jobid: str, session: LoggedIn) -> Response:
    """Return what a job's tasks have written so far."""
    services = services_of(request)
    job = await services.following.followed(session.principal, cluster, jobid)
    with services.streams.limiter.one(session.principal.user):
        text, whole = await text_now.read(services.streams, job, MAX_BYTES)
    text += b"" if whole else CUT.encode()
    return Response(text, headers=HEADERS, media_type="text/plain; charset=utf-8")


def _require_key(key: str) -> None:
    if not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        raise HttpProblem("malformed", "the form has no key: load the page again")


def _submission(form: SentForm) -> Submission:
    """Return the job that a form describes. Its command line is split as a shell does, which starts none."""
    try:
        command = shlex.split(form.one("command"))
    except ValueError as error:
        message = f"cannot be split into words: {str(error).lower()}"
        raise HttpProblem("invalid", "", (FieldError("command", message),)) from None
    if not command:
        raise HttpProblem("invalid", "", (FieldError("command", "is empty"),))
    values: dict[str, object] = {"command": command, "tasks": forms.number(form.one("tasks") or "1")}
    if form.one("nodes"):
        values["nodes"] = forms.number(form.one("nodes"))
    if form.one("name"):
        values["name"] = form.one("name")
    return forms.validated(Submission, values)
