"""What jobs write and what happens to them, live: text, lines of JSON, or server-sent events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response

from restful.jobs.output import sse
from restful.jobs.output.encoders import (
    EventEncoder,
    EventListEncoder,
    JsonLinesEncoder,
    SseEncoder,
    TextEncoder,
)
from restful.jobs.output.selection import selection
from restful.routes.live import RESPONSES, JobReader, LastEventId, live_response, start_of

if TYPE_CHECKING:
    from minicluster.instance.records import Event, OutputChunk
    from restful.jobs.output.limits import StreamLimits
    from restful.jobs.output.responses import Form
    from restful.jobs.output.selection import ChunkSelection
    from restful.jobs.output.streams import FollowServices

router = APIRouter(prefix="/v2/clusters/{cluster}/jobs/{id}", tags=["output"])

LiveFormat = Literal["text", "json", "sse"]


class OutputQuery(BaseModel):
    """The query of a job's output."""

    stream: str | None = Field(
        None, description="stdout, stderr, log, or several with commas; all if absent."
    )
    task: str | None = Field(None, description="Ranks of tasks (RFC 22), such as 0-3,7; all if absent.")
    after: str | None = Field(None, description="The entry behind which to go on: the `id` received last.")
    follow: bool | None = Field(None, description="Go on up to the job's end; true for events.")
    format: LiveFormat | None = Field(None, description="If absent, what `Accept` asks for, else text.")


class EventsQuery(BaseModel):
    """The query of a job's events."""

    after: str | None = Field(None, description="The event behind which to go on: the `id` received last.")
    follow: bool = Field(False, description="Go on up to the job's end, as server-sent events.")


@router.get(
    "/output",
    summary="A job's output",
    response_class=Response,
    responses={
        200: {
            "description": "The output, with `follow` up to the job's end.",
            "content": {"text/plain": {}, "application/jsonl": {}, sse.MEDIA_TYPE: {}},
        },
        **RESPONSES,
    },
)
@router.head("/output", include_in_schema=False)
async def output(
    request: Request,
    principal: JobReader,
    cluster: str,
    id: str,  # noqa: A002 - the path's name for it
    query: Annotated[OutputQuery, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """Return what the job's tasks write.

    Text has no ids and no end mark: where a stream must be resumed, ask for events or lines of JSON.
    """
    services: FollowServices = request.app.state.services
    chosen = query.format or ("sse" if sse.MEDIA_TYPE in request.headers.get("accept", "") else "text")
    form = _form(chosen, selection(query.stream, query.task), services.streams.limits)
    start = start_of(query.after, last_event_id)
    job = await services.following.followed(principal, cluster, id)
    if start is None:
        return Response(status_code=204)
    hub = services.streams.hub
    if chosen == "sse" if query.follow is None else query.follow:
        follow = partial(hub.follow, ("output", job.key), job.output, start, job.owner)
    else:
        follow = partial(hub.read, job.output_now, start, job.owner)
    return live_response(request, principal, (cluster, id), form, follow)


@router.get(
    "/events",
    summary="A job's events",
    response_class=Response,
    responses={
        200: {
            "description": "The eventlog (RFC 18, 21); with `follow` as events up to the job's end.",
            "content": {"application/json": {}, sse.MEDIA_TYPE: {}},
        },
        **RESPONSES,
    },
)
@router.head("/events", include_in_schema=False)
async def events(
    request: Request,
    principal: JobReader,
    cluster: str,
    id: str,  # noqa: A002 - the path's name for it
    query: Annotated[EventsQuery, Query()],
    last_event_id: LastEventId = None,
) -> Response:
    """Return what has happened to a job, and with `follow` what happens."""
    services: FollowServices = request.app.state.services
    start = start_of(query.after, last_event_id)
    job = await services.following.followed(principal, cluster, id)
    if start is None:
        return Response(status_code=204)
    hub, form = services.streams.hub, _event_form(services.streams.limits, follow=query.follow)
    if query.follow:
        follow = partial(hub.follow, ("events", job.key), job.events, start, job.owner)
    else:
        follow = partial(hub.read, job.events_now, start, job.owner)
    return live_response(request, principal, (cluster, id), form, follow)


def _event_form(limits: StreamLimits, *, follow: bool) -> Form[Event]:
    return EventEncoder(limits.retry_delay) if follow else EventListEncoder()


def _form(chosen: LiveFormat, wanted: ChunkSelection, limits: StreamLimits) -> Form[OutputChunk]:
    match chosen:
        case "text":
            return TextEncoder(wanted)
        case "json":
            return JsonLinesEncoder(wanted)
        case "sse":
            return SseEncoder(wanted, limits.retry_delay)
