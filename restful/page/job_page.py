"""One job: what it is, why it waits, what happened to it, its output live, and what may be done to it."""

import asyncio
import contextlib
import shlex
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from broker_config.formats.jobid import f58
from broker_config.formats.jobspec import command_of, system_of
from minicluster.instance.errors import InstanceError
from minicluster.instance.records import Event
from restful.errors import FieldError, HttpProblem
from restful.jobs.job_bursts import burst_of
from restful.jobs.output.followed import Followed
from restful.jobs.output.streams import LiveStreams
from restful.jobs.schema import SIGNALS
from restful.page import forms, job_events
from restful.page.browser_sessions import BrowserSession, LoggedIn, PostedForm, PostedHere
from restful.page.job_list import shown, version_of
from restful.page.job_words import URGENCY_MAX
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other, segment, words
from restful.routes.admission import services_of
from restful.services import Services

router = APIRouter(route_class=PageRoute, include_in_schema=False)

T = TypeVar("T")

ASK_TIMEOUT = 5.0
"""Seconds for what the instance itself has to answer; the page is shown without it then."""
MAX_COMMAND = 2000
"""Characters of a command that are shown."""
MAX_EVENTS = 200
"""Of a job's events; the latest are shown."""


@dataclass(frozen=True, slots=True)
class InstanceAnswers:
    """What a job's instance reports of it; None or empty where it does not answer, or has forgotten it."""

    why: str | None
    jobspec: Mapping[str, Any] | None
    events: list[Event] | None

    @property
    def silent(self) -> bool:
        """Return whether something is missing."""
        return self.jobspec is None or self.events is None


@router.get("/jobs/{cluster}/{jobid}")
async def job(request: Request, cluster: str, jobid: str, session: LoggedIn) -> Response:
    """Show a job."""
    return await job_page(request, session, cluster, jobid)


async def job_page(
    request: Request, session: BrowserSession, cluster: str, jobid: str, problem: HttpProblem | None = None
) -> Response:
    """Return the page of a job, with an act that was refused."""
    services, principal = services_of(request), session.principal
    record = await services.jobs.get(principal, cluster, jobid)
    _, scopes = await services.access.cluster(principal, cluster, "jobs:read")
    answers = await _answers(services, session, cluster, jobid)
    found = (await shown(request, session, cluster, [record], scopes))[0]
    values = {
        "session": session,
        "job": found,
        "path": f"/jobs/{segment(cluster)}/{found.plain}",
        "stream": f"/v2/clusters/{segment(cluster)}/jobs/{found.plain}/output?format=sse",
        "answers": answers,
        "burst": await burst_of(services.jobs, principal, cluster, jobid),
        "command": shlex.join(map(str, command_of(answers.jobspec)))[:MAX_COMMAND] if answers.jobspec else "",
        "cwd": system_of(answers.jobspec).get("cwd", "") if answers.jobspec else "",
        "events": job_events.shown((answers.events or [])[-MAX_EVENTS:]),
        "restart_of": "" if record.restart_of is None else f58(record.restart_of),
        "signals": SIGNALS,
        "version": version_of((record, answers.why, len(answers.events or []))),
        "problem": words(problem) if problem is not None else [],
    }
    status, headers = (problem.status, problem.headers) if problem is not None else (200, {})
    return page("job.html", values, status, headers)


async def _answers(services: Services, session: BrowserSession, cluster: str, jobid: str) -> InstanceAnswers:
    jobs, principal = services.jobs, session.principal
    why, jobspec, events = await asyncio.gather(
        _answer(jobs.why(principal, cluster, jobid)),
        _answer(jobs.jobspec(principal, cluster, jobid)),
        _answer(_events(services, session, cluster, jobid)),
    )
    return InstanceAnswers(why, jobspec, events)


async def _answer(asked: Awaitable[T]) -> T | None:
    """Return what an instance answers in time; None where it does not, or has forgotten the job."""
    with contextlib.suppress(TimeoutError, InstanceError):
        try:
            async with asyncio.timeout(ASK_TIMEOUT):
                return await asked
        except HttpProblem as problem:
            if problem.type not in {"output-gone", "instance-away", "busy", "too-many-requests"}:
                raise
    return None


async def _events(services: Services, session: BrowserSession, cluster: str, jobid: str) -> list[Event]:
    job = await services.following.followed(session.principal, cluster, jobid)
    streams = services.streams
    with streams.limiter.one(session.principal.user):
        return await _events_now(streams, job)


async def _events_now(streams: LiveStreams, job: Followed) -> list[Event]:
    async with streams.hub.read(job.events_now, -1, job.owner) as reader:
        found: list[Event] = []
        while batch := await reader.batch(ASK_TIMEOUT):
            found += [item for entry in batch for item in entry.items]
    return found


@router.post("/jobs/{cluster}/{jobid}/cancel")
async def cancel(request: Request, cluster: str, jobid: str, sent: PostedHere) -> Response:
    """Cancel the job."""
    work = services_of(request).jobs.cancel(sent.session.principal, cluster, jobid)
    return await _act(request, sent, (cluster, jobid), work)


@router.post("/jobs/{cluster}/{jobid}/kill")
async def kill(request: Request, cluster: str, jobid: str, sent: PostedHere) -> Response:
    """Send a signal to all tasks of the job."""
    name = sent.form.one("signal")
    if name not in SIGNALS:
        raise HttpProblem("malformed", f"signal is one of {', '.join(SIGNALS)}")
    work = services_of(request).jobs.kill(sent.session.principal, cluster, jobid, name)
    return await _act(request, sent, (cluster, jobid), work)


@router.post("/jobs/{cluster}/{jobid}/urgency")
async def urgency(request: Request, cluster: str, jobid: str, sent: PostedHere) -> Response:
    """Set the urgency of the job."""
    asked = forms.number(sent.form.one("urgency"))
    if not isinstance(asked, int) or asked > URGENCY_MAX:
        message = f"a whole number from 0 to {URGENCY_MAX} is needed"
        problem = HttpProblem("invalid", "", (FieldError("urgency", message),))
        return await job_page(request, sent.session, cluster, jobid, problem)
    work = services_of(request).jobs.urgency(sent.session.principal, cluster, jobid, asked)
    return await _act(request, sent, (cluster, jobid), work)


@router.get("/jobs/{cluster}/{jobid}/cancel")
@router.get("/jobs/{cluster}/{jobid}/kill")
@router.get("/jobs/{cluster}/{jobid}/urgency")
async def again(cluster: str, jobid: str) -> Response:
    """Show the job to who comes here without a form."""
    return see_other(f"/jobs/{segment(cluster)}/{segment(jobid)}")


async def _act(
    request: Request, sent: PostedForm, which: tuple[str, str], work: Awaitable[object]
) -> Response:
    """Do something to a job, and show the job again."""
    cluster, jobid = which
    try:
        await work
    except HttpProblem as problem:
        if problem.type == "not-found":
            raise
        return await job_page(request, sent.session, cluster, jobid, problem)
    return see_other(f"/jobs/{segment(cluster)}/{segment(jobid)}")
