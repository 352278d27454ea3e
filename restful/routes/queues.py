"""The queues of a cluster, and the numbers of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response

from restful.clusters.views import DEFAULT_QUEUE
from restful.identity.principal import Principal
from restful.jobs.listing import ListingQuery
from restful.jobs.schema import GivenReason
from restful.routes.access import requires
from restful.routes.admission import services_of
from restful.routes.answers import WITH_BODY, answers, body, body_schema, json_answer
from restful.routes.direct import DirectRoute

if TYPE_CHECKING:
    from minicluster.instance.records import QueueStats, QueueStatus
    from restful.services import Services

router = APIRouter(prefix="/v2/clusters/{cluster}", route_class=DirectRoute, tags=["queues"])

ClusterReader = Annotated[Principal, Depends(requires("clusters:read"))]
Managing = Annotated[Principal, Depends(requires("queues:manage"))]
QueueName = Annotated[
    str, Path(description=f"The queue's name; `{DEFAULT_QUEUE}` where the only one has none.")
]


class QueueStateView(BaseModel):
    """A queue."""

    name: str
    enabled: bool = Field(description="Whether it takes jobs.")
    started: bool = Field(description="Whether it starts jobs.")
    disable_reason: str
    stop_reason: str


class QueuesView(BaseModel):
    """The queues of a cluster."""

    queues: list[QueueStateView]


class CountsView(BaseModel):
    """How many jobs are in which state."""

    pending: int
    running: int
    inactive: int


class StatsView(BaseModel):
    """The numbers of jobs."""

    own: CountsView = Field(description="Your jobs.")
    all: CountsView | None = Field(description="Everybody's, for operators; else null.")


def view(queue: QueueStatus) -> dict[str, Any]:
    """Return a queue as a client gets it."""
    return {
        "name": queue.name or DEFAULT_QUEUE,
        "enabled": queue.enabled,
        "started": queue.started,
        "disable_reason": queue.disable_reason,
        "stop_reason": queue.stop_reason,
    }


def _counts(stats: QueueStats) -> dict[str, int]:
    return {"pending": stats.pending, "running": stats.running, "inactive": stats.inactive}


async def numbers(services: Services, principal: Principal, cluster: str) -> dict[str, Any]:
    """Return the members of StatsView."""
    found, everybody = await services.views.queues(principal, cluster)
    own: dict[str, int] = {}
    if principal.may("jobs:read"):
        for state in CountsView.model_fields:
            own[state] = await services.jobs.count(principal, cluster, ListingQuery(state=[state]))
    return {
        "own": own or dict.fromkeys(CountsView.model_fields, 0),
        "all": _counts(found.stats) if everybody else None,
    }


@router.get(
    "/queues",
    summary="List queues",
    responses=answers(QueuesView, "busy", "instance-away", "instance-refused"),
)
async def queues(request: Request, cluster: str, principal: ClusterReader) -> Response:
    """Return the queues of a cluster, at most a second old."""
    found, _ = await services_of(request).views.queues(principal, cluster)
    return json_answer({"queues": [view(each) for each in found.queues]})


@router.get(
    "/stats",
    summary="Numbers of jobs",
    responses=answers(StatsView, "busy", "instance-away", "instance-refused"),
)
async def stats(request: Request, cluster: str, principal: ClusterReader) -> Response:
    """Return how many jobs you have; for operators also how many there are."""
    return json_answer(await numbers(services_of(request), principal, cluster))


_ACTS = (*WITH_BODY, "conflict", "busy", "instance-away", "instance-refused")


@router.post(
    "/queues/{queue}/start",
    status_code=204,
    summary="Start a queue",
    responses=answers(None, *_ACTS, status=204, words="It starts jobs again."),
)
async def start(request: Request, cluster: str, queue: QueueName, principal: Managing) -> Response:
    """Have a queue start jobs again."""
    await services_of(request).views.start_queue(principal, cluster, queue, start=True)
    return Response(status_code=204)


@router.post(
    "/queues/{queue}/stop",
    status_code=204,
    summary="Stop a queue",
    openapi_extra=body_schema(GivenReason, optional=True),
    responses=answers(None, *_ACTS, status=204, words="It starts no more jobs; what runs goes on."),
)
async def stop(request: Request, cluster: str, queue: QueueName, principal: Managing) -> Response:
    """Have a queue start no more jobs; submitting works."""
    sent = await body(request, GivenReason, optional=True)
    await services_of(request).views.start_queue(principal, cluster, queue, start=False, reason=sent.reason)
    return Response(status_code=204)
