"""Jobs: submit, list, read, cancel, signal, urgency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Path
from pydantic import BaseModel, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response  # noqa: TC002 - FastAPI reads annotations

from broker_config.formats.jobid import f58, f58plain
from restful.errors import FieldError, HttpProblem
from restful.identity.principal import Principal
from restful.jobs import schema
from restful.jobs.job_bursts import burst_of
from restful.jobs.listing import ListingQuery
from restful.jobs.views import JobPage, JobView
from restful.routes.access import requires
from restful.routes.admission import services_of
from restful.routes.answers import WITH_BODY, answers, body, body_schema, json_answer, query, query_schema
from restful.routes.direct import DirectRoute
from restful.routes.job_answers import job_answer, page_answer
from restful.routes.parameters import NO_NUL

if TYPE_CHECKING:
    from restful.jobs.jobs import JobService
    from restful.jobs.submit_order import Submitted

router = APIRouter(prefix="/v2/clusters/{cluster}", route_class=DirectRoute, tags=["jobs"])

JobsReader = Annotated[Principal, Depends(requires("jobs:read"))]
Submitting = Annotated[Principal, Depends(requires("jobs:submit"))]
Canceling = Annotated[Principal, Depends(requires("jobs:cancel"))]
JobId = Annotated[str, Path(description="A job id in any form of RFC 19, such as F58 or decimals.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A text of your own for this job, up to 255 characters: sent again, it makes no other.",
    ),
]
MAX_KEY = 255
MAX_BULK_KEY = 250
"""Less, as each of the jobs has its number behind it."""


class SubmittedView(BaseModel):
    """A job that was submitted."""

    id: str = Field(description="In F58 (RFC 19).")
    number: str = Field(description="The same id in decimals.")


class SubmitOutcomeView(BaseModel):
    """What became of one job of several."""

    status: int = Field(description="As if the job had been submitted alone: 201, or that of a problem.")
    id: str | None = Field(description="In F58 (RFC 19).")
    number: str | None = Field(description="The same id in decimals.")
    replayed: bool = Field(description="Whether an earlier request with the same key submitted it.")
    type: str | None = Field(description="The problem's, as a relative reference.")
    detail: str


class SubmitOutcomesView(BaseModel):
    """What became of each job, in the order of the request."""

    results: list[SubmitOutcomeView]


class FeasibilityView(BaseModel):
    """Whether a job could run at this cluster as it is."""

    feasible: bool
    reason: str = Field(description="Why not; empty if it could.")
    jobspec: dict[str, Any] = Field(description="What would be submitted, without the environment.")


class WhyView(BaseModel):
    """Why a job waits."""

    why: str = Field(description="In a sentence; empty if it does not wait.")


class UrgencyView(BaseModel):
    """A job's urgency."""

    urgency: int
    before: int


class OutcomeView(BaseModel):
    """What became of one job."""

    id: str
    status: int = Field(description="As if the job had been cancelled alone.")
    detail: str


class OutcomesView(BaseModel):
    """What became of each job."""

    results: list[OutcomeView]


def jobs_of(request: Request) -> JobService:
    """Return the service's jobs."""
    return services_of(request).jobs


def where(cluster: str, jobid: int) -> str:
    """Return the path of a job, in ASCII as a header needs it."""
    return f"/v2/clusters/{quote(cluster, safe='')}/jobs/{f58plain(jobid)}"


@router.post(
    "/jobs",
    status_code=201,
    summary="Submit a job",
    openapi_extra=body_schema(schema.Submission),
    responses=answers(
        SubmittedView, *WITH_BODY, "quota", "under-way", "busy", "instance-away", "instance-refused",
        status=201, words="The job was submitted, now or with the same key before.",
    ),
)  # fmt: skip
async def submit(request: Request, cluster: str, principal: Submitting, key: Key = None) -> Response:
    """Submit a job of its fields, a batch script, or a whole jobspec."""
    _check_key(key, MAX_KEY)
    sent = await body(request, schema.Submission)
    found = await jobs_of(request).submit(principal, cluster, sent, key)
    headers = {"Location": where(cluster, found.id)}
    if found.replayed:
        headers["Idempotency-Replayed"] = "true"
    return json_answer({"id": f58(found.id), "number": str(found.id)}, 201, headers)


def _check_key(key: str | None, most: int) -> None:
    if key is not None and not (0 < len(key) <= most and key.isprintable()):
        message = f"has 1 to {most} printable characters"
        raise HttpProblem("invalid", f"Idempotency-Key {message}", (FieldError("Idempotency-Key", message),))


@router.post(
    "/jobs:submit",
    status_code=207,
    summary="Submit many jobs",
    openapi_extra=body_schema(schema.BulkSubmit),
    responses=answers(
        SubmitOutcomesView, *WITH_BODY, "quota", "under-way", "busy", "instance-away", "instance-refused",
        status=207, words="What became of each job: 201, 422, 502 or 503.",
    ),
)  # fmt: skip
async def submit_many(request: Request, cluster: str, principal: Submitting, key: Key = None) -> Response:
    """Submit jobs side by side, such as those of a parameter study.

    What is wrong with one of them, or beyond a quota, refuses them all. Their ids need not be in their order.
    Sent again with the same key, the request submits what has no job yet.
    """
    _check_key(key, MAX_BULK_KEY)
    sent = await body(request, schema.BulkSubmit)
    outcomes = await jobs_of(request).submit_many(principal, cluster, sent.jobs, key)
    return json_answer({"results": [_outcome(each) for each in outcomes]}, 207)


def _outcome(found: Submitted | HttpProblem) -> dict[str, Any]:
    if isinstance(found, HttpProblem):
        shown = {"type": f"/problems/{found.type}", "detail": found.detail}
        return {"status": found.status, "id": None, "number": None, "replayed": False, **shown}
    ids = {"id": f58(found.id), "number": str(found.id)}
    return {"status": 201, **ids, "replayed": found.replayed, "type": None, "detail": ""}


@router.post(
    "/jobs:validate",
    summary="Ask whether a job could run",
    openapi_extra=body_schema(schema.Submission),
    responses=answers(FeasibilityView, *WITH_BODY, "busy", "instance-away", "instance-refused"),
)
async def validate(request: Request, cluster: str, principal: Submitting) -> Response:
    """Check a submission, and whether the cluster has what it asks for; nothing is submitted."""
    sent = await body(request, schema.Submission)
    found = await jobs_of(request).validate(principal, cluster, sent)
    return json_answer(found._asdict())


@router.post(
    "/jobs:cancel",
    status_code=207,
    summary="Cancel many jobs",
    openapi_extra=body_schema(schema.BulkCancel),
    responses=answers(
        OutcomesView, *WITH_BODY, "busy", "instance-away", "instance-refused",
        status=207, words="What became of each job: 202, 404 or 409.",
    ),
)  # fmt: skip
async def cancel_many(request: Request, cluster: str, principal: Canceling) -> Response:
    """Cancel jobs by their ids, or by a filter."""
    sent = await body(request, schema.BulkCancel)
    which: list[str] | ListingQuery = sent.ids or []
    if sent.filter is not None:
        which = ListingQuery(
            state=sent.filter.state or ["active"],
            queue=sent.filter.queue,
            name=sent.filter.name,
            owner=sent.filter.owner,
        )
    outcomes = await jobs_of(request).cancel_many(principal, cluster, which, sent.reason)
    return json_answer({"results": [each._asdict() for each in outcomes]}, 207)


class ListingParameters(BaseModel):
    """The query of a listing."""

    state: list[str] = Field([], description="Such as pending, run, active, inactive.")
    result: list[str] = Field([], description="completed, failed, canceled, timeout; adds to `state`.")
    queue: str = Field("", max_length=255, pattern=NO_NUL)
    name: str = Field(
        "", max_length=255, pattern=NO_NUL, description="With * for any text, and ? for any character."
    )
    owner: str = Field(
        "", max_length=64, pattern=NO_NUL, description="A user's id, `*` or `nobody`; by default you."
    )
    since: float = Field(
        0.0, ge=0, allow_inf_nan=False, description="Seconds since 1970; submitted then or later."
    )
    until: float = Field(0.0, ge=0, allow_inf_nan=False, description="Submitted before; 0: until now.")
    limit: int | None = Field(None, description="Jobs a page, 1 to 500.")
    cursor: str = Field("", max_length=200, description="`next` of the page before.")


@router.get(
    "/jobs",
    summary="List jobs",
    openapi_extra=query_schema(ListingParameters),
    responses=answers(JobPage, "cursor", "invalid"),
)
async def listing(request: Request, cluster: str, principal: JobsReader) -> Response:
    """List jobs by pages, latest first."""
    wanted = query(request, ListingParameters)
    page = await jobs_of(request).page(principal, cluster, ListingQuery(**vars(wanted)))
    return await page_answer(request, page, cluster)


@router.get("/jobs/{id}", summary="One job", responses=answers(JobView))
async def job(request: Request, cluster: str, id: JobId, principal: JobsReader) -> Response:  # noqa: A002 - the path's name
    """Return a job as it is now, or as it was when it ended."""
    record = await jobs_of(request).get(principal, cluster, id)
    burst = await burst_of(jobs_of(request), principal, cluster, id)
    return await job_answer(request, record, cluster, burst=burst)


@router.get(
    "/jobs/{id}/jobspec",
    summary="A job's jobspec",
    responses=answers(
        None, "output-gone", "busy", "instance-away", "instance-refused", words="RFC 25, without environment."
    ),
)
async def jobspec(request: Request, cluster: str, id: JobId, principal: JobsReader) -> Response:  # noqa: A002 - the path's name
    """Return what was submitted, without the environment."""
    return json_answer(await jobs_of(request).jobspec(principal, cluster, id))


@router.get(
    "/jobs/{id}/why",
    summary="Why a job waits",
    responses=answers(WhyView, "busy", "instance-away", "instance-refused"),
)
async def why(request: Request, cluster: str, id: JobId, principal: JobsReader) -> Response:  # noqa: A002 - the path's name
    """Return why a job has not begun."""
    return json_answer({"why": await jobs_of(request).why(principal, cluster, id)})


_ACTS = (*WITH_BODY, "ended", "conflict", "busy", "instance-away", "instance-refused")


@router.post(
    "/jobs/{id}/cancel",
    status_code=202,
    summary="Cancel a job",
    openapi_extra=body_schema(schema.GivenReason, optional=True),
    responses=answers(JobView, *_ACTS, status=202, words="The instance was asked to cancel it."),
)
async def cancel(request: Request, cluster: str, id: JobId, principal: Canceling) -> Response:  # noqa: A002 - the path's name
    """Cancel a job that has not ended."""
    sent = await body(request, schema.GivenReason, optional=True)
    found = await jobs_of(request).cancel(principal, cluster, id, sent.reason)
    return await job_answer(request, found, cluster, 202)


@router.post(
    "/jobs/{id}/kill",
    status_code=202,
    summary="Send a signal to a job",
    openapi_extra=body_schema(schema.Kill, optional=True),
    responses=answers(JobView, *_ACTS, status=202, words="The signal is on its way."),
)
async def kill(request: Request, cluster: str, id: JobId, principal: Canceling) -> Response:  # noqa: A002 - the path's name
    """Send a signal to every task of a running job."""
    sent = await body(request, schema.Kill, optional=True)
    found = await jobs_of(request).kill(principal, cluster, id, sent.signal)
    return await job_answer(request, found, cluster, 202)


@router.post(
    "/jobs/{id}/urgency",
    summary="Set a job's urgency",
    openapi_extra=body_schema(schema.NewUrgency),
    responses=answers(UrgencyView, *_ACTS),
)
async def urgency(request: Request, cluster: str, id: JobId, principal: Canceling) -> Response:  # noqa: A002 - the path's name
    """Set the urgency of a job that waits."""
    sent = await body(request, schema.NewUrgency)
    before = await jobs_of(request).urgency(principal, cluster, id, sent.urgency)
    return json_answer({"urgency": sent.urgency, "before": before})
