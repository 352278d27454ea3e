"""What users' jobs have used."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response  # noqa: TC002 - FastAPI reads annotations

from restful.errors import HttpProblem
from restful.identity.principal import Principal
from restful.routes.answers import answers, json_answer
from restful.routes.asker import asker, services_of
from restful.store import usage

router = APIRouter(prefix="/v2", tags=["usage"])

JobsReader = Annotated[Principal, Depends(asker("jobs:read"))]
EVERYBODY = "*"


class UsageView(BaseModel):
    """What was used by one user, or on one day (UTC)."""

    user: str | None = None
    day: str | None = Field(default=None, examples=["2026-01-31"])
    node_seconds: float
    core_seconds: float


class UsagesView(BaseModel):
    """What was used."""

    usage: list[UsageView]


def _day(number: int) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=number)).isoformat()


def _number(day: datetime.date) -> int:
    return (day - datetime.date(1970, 1, 1)).days


@router.get("/usage", summary="What jobs have used", responses=answers(UsagesView, "invalid"))
async def used(
    request: Request,
    principal: JobsReader,
    by: Annotated[Literal["user", "day"], Query()] = "day",
    user: Annotated[str, Query(max_length=26, description="A user's id, or `*`; by default you.")] = "",
    cluster: Annotated[str, Query(max_length=255, description="By default all that you may use.")] = "",
    since: Annotated[
        datetime.date | None, Query(description="The first day; by default 30 days ago.")
    ] = None,
    until: Annotated[datetime.date | None, Query(description="The last day; by default today.")] = None,
) -> Response:
    """Return node-seconds and core-seconds by day or by user."""
    services = services_of(request)
    if user not in ("", principal.user) and not principal.may("jobs:read:all"):
        raise HttpProblem("forbidden", "user: others' use needs the scope jobs:read:all")
    where = (await services.access.cluster(principal, cluster, "jobs:read"))[0].id if cluster else None
    whose = None if user == EVERYBODY else user or principal.user
    today = int(services.now() // usage.DAY)
    days = today - 30 if since is None else _number(since), today if until is None else _number(until)
    async with services.database.read() as connection:
        sums = await usage.sums(connection, by, whose, where, days)
    found = [{by: _day(int(each.key)) if by == "day" else each.key, **_amounts(each)} for each in sums]
    return json_answer({"usage": found})


def _amounts(found: usage.Sum) -> dict[str, float]:
    return {"node_seconds": found.node_seconds, "core_seconds": found.core_seconds}
