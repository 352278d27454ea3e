"""An application with the routes of output alone, over scripted jobs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from unittest import mock

from fastapi import FastAPI
from starlette.responses import JSONResponse

from restful.errors import MEDIA_TYPE, HttpProblem
from restful.identity.principal import Principal, Role
from restful.jobs.output.limits import StreamLimits
from restful.jobs.output.streams import LiveStreams, streams
from restful.routes import job_changes, live, output
from tests.restful.output.driver import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from restful.jobs.output.followed import Followed
    from restful.jobs.output.job_changes import FollowedCluster
    from tests.restful.output.scripted import Script

ALICE = Principal("01ALICE", "alice", Role.USER, frozenset({"jobs:read"}), "pat")
LIMITS = StreamLimits(reopen_delays=(0.001,) * 1000, open_timeout=0.5)
OUTPUT = "/v2/clusters/mc/jobs/7/output"
CHANGES = "/v2/clusters/mc/events"
EVENTS = "/v2/clusters/mc/jobs/7/events"


@dataclass
class Service:
    """The services that the routes ask for; `refusal` may come while streams are open."""

    script: Script
    streams: LiveStreams
    refusal: Exception | None = None
    asked: int = 0
    app: FastAPI = field(default_factory=FastAPI)

    @property
    def following(self) -> Service:
        return self

    async def followed(self, principal: Principal, cluster: str, jobid: str) -> Followed:
        if (cluster, jobid) != ("mc", "7"):
            raise HttpProblem("not-found")
        return self.script.followed()

    async def followed_cluster(self, principal: Principal, cluster: str) -> FollowedCluster:
        return self.script.followed_cluster()

    async def check(self, principal: Principal, cluster: str, jobid: str = "") -> None:
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal


def _problem(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, HttpProblem)
    body = problem.body(request.url.path)
    return JSONResponse(body, problem.status, dict(problem.headers), media_type=MEDIA_TYPE)


async def _alice(_request: Request, *, stream: bool) -> Principal:
    return ALICE


@contextlib.asynccontextmanager
async def serving(script: Script, **limits: Any) -> AsyncIterator[Service]:
    """Serve a script; at the end nothing that a stream had is left."""
    service = Service(script, streams(replace(LIMITS, **limits)))
    app = service.app
    app.include_router(output.router)
    app.include_router(job_changes.router)
    app.add_exception_handler(HttpProblem, _problem)
    app.state.services = service
    app.dependency_overrides[live.READS] = lambda: ALICE
    with mock.patch.object(live, "principal_of", _alice):
        yield service
    hub = service.streams.hub
    await until(lambda: hub.threads == 0, "no thread is left")
    assert (hub.feeds, hub.readers, service.streams.limiter.open, len(script.streams)) == (0, 0, 0, 0)
