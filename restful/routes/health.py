"""Whether the service lives, and whether it can serve: for probes, without a user."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response  # noqa: TC002 - FastAPI reads annotations

from restful.routes.admission import services_of
from restful.routes.answers import json_answer, problems
from restful.store import clusters

router = APIRouter(tags=["health"])


class HealthView(BaseModel):
    """That it is so."""

    status: str


@router.get(
    "/healthz",
    summary="Whether the service lives",
    responses={200: {"model": HealthView, "description": "It does."}},
)
async def healthz() -> Response:
    """Answer, which needs neither the database nor any cluster."""
    return json_answer({"status": "ok"})


@router.get(
    "/readyz",
    summary="Whether the service can serve",
    responses={200: {"model": HealthView, "description": "It can."}, **problems("database-away")},
)
async def readyz(request: Request) -> Response:
    """Answer once the database has been read; clusters may be away."""
    async with services_of(request).database.read() as connection:
        await clusters.by_name(connection, "")
    return json_answer({"status": "ok"})
