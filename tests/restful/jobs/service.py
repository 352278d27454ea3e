"""A service in this process, over SQLite and instances, with users that need no login."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import httpx2
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations

from restful.app import create_app
from restful.clusters.spec import ClusterSpec
from restful.errors import HttpProblem
from restful.identity.principal import Principal, Role
from restful.identity.scopes import BY_ROLE, SCOPES, GrantRole
from restful.jobs.jobspecs import Base
from restful.routes.access import requires
from restful.routes.admission import admit, services_of
from restful.services import Services, open_services
from restful.settings import ClusterLimits, RequestLimits, Settings
from tests.restful import databases

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
    from pathlib import Path

    from fastapi import FastAPI

    from tests.conformance.laboratory import Laboratory

MASTER = b"m" * 32
BASE = Base({"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}, "/tmp")
FAST = Settings(clusters=ClusterLimits(batch_seconds=0.005, first_retry=0.01, last_retry=0.05))
C = "/v2/clusters/mc"
USERS = {
    name: Principal(f"01{name.upper():0<24}", name, role, BY_ROLE[role], "pat", f"T{name}", "192.0.2.1")
    for name, role in {
        "alice": Role.USER, "bob": Role.USER, "olga": Role.OPERATOR, "root": Role.ADMIN,
    }.items()
}  # fmt: skip


@dataclass
class EveryoneUses:
    """Grants: everybody uses every cluster; operators operate there."""

    by_user: dict[str, Mapping[str, frozenset[GrantRole]]] = field(default_factory=dict)

    async def grants(self, user: str) -> Mapping[str, frozenset[GrantRole]]:
        """Return what a user was granted."""
        everywhere = {"*": frozenset({GrantRole.USE, GrantRole.OPERATE})}
        return self.by_user.get(user, everywhere)


@dataclass
class Service:
    """The services, and a client of their application."""

    services: Services
    app: FastAPI
    client: httpx2.AsyncClient

    async def ask(self, user: str, method: str, path: str, **more: Any) -> httpx2.Response:
        """Send a request as a user; a path that begins with / is below the cluster's."""
        whole = path if path.startswith(("/v2", "/health", "/ready", "/open")) else C + path
        headers = {"authorization": f"Bearer {user}", **more.pop("headers", {})}
        return await self.client.request(method, whole, headers=headers, **more)

    async def submit(self, user: str, command: Iterable[str] = ("true",), **more: Any) -> str:
        """Submit a job as a user, and return its id."""
        headers = more.pop("headers", {})
        body = {"command": list(command), **more}
        answer = await self.ask(user, "POST", "/jobs", json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        return cast(str, answer.json()["id"])

    async def until(self, user: str, jobid: str, fact: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait until a job as the service has it fulfils something, and return it."""
        async with asyncio.timeout(60):
            while True:
                found = cast(dict[str, Any], (await self.ask(user, "GET", f"/jobs/{jobid}")).json())
                if fact(found):
                    return found
                await asyncio.sleep(0.02)

    async def ended(self, user: str, jobid: str) -> dict[str, Any]:
        """Wait until a job has ended, and return it."""
        return await self.until(user, jobid, lambda job: job.get("state") == "INACTIVE")


def spec_of(laboratory: Laboratory, **more: Any) -> ClusterSpec:
    """Return a cluster `mc` of an instance."""
    return ClusterSpec(**{"name": "mc", "connect": laboratory.connect, "base": BASE, **more})


def app_of(services: Services, **more: Any) -> FastAPI:
    """Return the application, whose bearer tokens are users' names."""
    app = create_app(services, **more)
    for scope in sorted(SCOPES):
        app.dependency_overrides[requires(scope)] = _by_name(scope)
        app.dependency_overrides[requires(scope, stream=True)] = _by_name(scope)
    return app


def _by_name(scope: str) -> Callable[[Request], Coroutine[Any, Any, Principal]]:
    async def principal(request: Request) -> Principal:
        found = USERS.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if found is None:
            raise HttpProblem("unauthenticated", headers={"WWW-Authenticate": "Bearer"})
        admit(services_of(request), found)
        if not found.may(scope):
            raise HttpProblem("forbidden", f"that needs the scope {scope}")
        return found

    return principal


_FREE: dict[tuple[RequestLimits, tuple[int, ...]], list[FastAPI]] = {}
"""Applications that no service has: to make one takes long."""


@contextlib.asynccontextmanager
async def opened(
    folder: Path, *specs: ClusterSpec, settings: Settings = FAST, **more: Any
) -> AsyncIterator[Service]:
    """Give a service that has caught up with its clusters."""
    database = await databases.ready(folder / "rest.db")
    services = open_services(
        more.pop("database", lambda found: found)(database), MASTER, more.pop("grants", EveryoneUses()),
        settings=settings, now=more.pop("now", time.time),
    )  # fmt: skip
    routers = more.pop("routers", ())
    free = _FREE.setdefault((services.settings.requests, tuple(map(id, routers))), [])
    app = free.pop() if free else app_of(services, routers=routers)
    app.state.services = services
    await services.clusters.start(specs)
    transport = httpx2.ASGITransport(app)
    try:
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            for each in services.clusters if more.pop("caught_up", True) else ():
                await asyncio.wait_for(each.caught_up.wait(), 60)
            yield Service(services, app, client)
        free.append(app)  # one that a test has added to is none of these
    finally:
        await services.clusters.close()
        await database.close()


def within(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, within the time that a test has."""

    async def limited() -> Any:
        async with asyncio.timeout(110):
            return await work

    return asyncio.run(limited())
