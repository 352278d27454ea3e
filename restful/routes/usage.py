"""What users' jobs have used."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response  # noqa: TC002 - FastAPI reads annotations

from restful.identity.principal import Principal
from restful.jobs.usage_report import UsageQuery
from restful.routes.access import requires
from restful.routes.admission import services_of
from restful.routes.answers import answers, json_answer
from restful.routes.parameters import NO_NUL
from restful.routes.times import Day  # noqa: TC001 - FastAPI reads annotations
from restful.store import usage

router = APIRouter(prefix="/v2", tags=["usage"])

JobsReader = Annotated[Principal, Depends(requires("jobs:read"))]


class UsageView(BaseModel):
    """What was used by one user, or on one day (UTC)."""

    user: str | None = None
    day: str | None = Field(default=None, examples=["2026-01-31"])
    node_seconds: float
    core_seconds: float


class UsagesView(BaseModel):
    """What was used."""

    usage: list[UsageView]


def day_text(number: int) -> str:
    """Return a day since 1970 as a date (RFC 3339)."""
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=number)).isoformat()


def _number(day: datetime.date) -> int:
    return (day - datetime.date(1970, 1, 1)).days


@router.get("/usage", summary="What jobs have used", responses=answers(UsagesView, "invalid"))
async def used(
    request: Request,
    principal: JobsReader,
    by: Annotated[Literal["user", "day"], Query()] = "day",
    user: Annotated[
        str, Query(max_length=26, pattern=NO_NUL, description="A user's id, or `*`; by default you.")
    ] = "",
    cluster: Annotated[
        str, Query(max_length=255, pattern=NO_NUL, description="By default all that you may use.")
    ] = "",
    since: Annotated[Day | None, Query(description="The first day; by default 30 days with today.")] = None,
    until: Annotated[Day | None, Query(description="The last day; by default today.")] = None,
) -> Response:
    """Return node-seconds and core-seconds by day or by user."""
    services = services_of(request)
    today = int(services.now() // usage.DAY)
    days = today - 29 if since is None else _number(since), today if until is None else _number(until)
    sums = await services.usage.sums(principal, UsageQuery(by, days, user, cluster))
    found = [{by: day_text(int(each.key)) if by == "day" else each.key, **_amounts(each)} for each in sums]
    return json_answer({"usage": found})


def _amounts(found: usage.Sum) -> dict[str, float]:
    return {"node_seconds": found.node_seconds, "core_seconds": found.core_seconds}
