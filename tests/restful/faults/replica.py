"""A whole service in this process: users with logins, jobs and streams, as one of several over a database."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import httpx2

from minicluster.database import open_database
from restful.app import create_app
from restful.identity.identities import Identities, open_identities
from restful.identity.principal import Role
from restful.identity.scopes import GrantRole
from restful.services import Services, open_services
from restful.settings import ClusterLimits, Settings
from restful.store import groups
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from restful.store.schema import SCHEMA
from tests.restful.identity import service
from tests.restful.identity.service import ADDRESS, MASTER, bearer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from fastapi import FastAPI

    from restful.clusters.cluster import ServedCluster
    from restful.clusters.spec import ClusterSpec

FAST = ClusterLimits(
    batch_seconds=0.005, first_retry=0.01, last_retry=0.05, lease_seconds=0.6, claim_seconds=0.6
)
IDENTITY = replace(service.SETTINGS, issuer="http://127.0.0.1")


@dataclass(frozen=True, slots=True)
class Replica:
    """One service process."""

    identities: Identities
    services: Services
    app: FastAPI
    client: httpx2.AsyncClient

    @property
    def cluster(self) -> ServedCluster:
        """The only cluster."""
        return next(iter(self.services.clusters))

    async def ask(self, token: str, method: str, path: str, **more: Any) -> httpx2.Response:
        """Send a request with a token."""
        headers = {**bearer(token), **more.pop("headers", {})}
        return await self.client.request(method, path, headers=headers, **more)

    async def add_user(self, name: str, role: Role = Role.USER) -> str:
        """Store a user; return his id."""
        user = await self._as_service().add_user(name, role)
        return user.id

    async def login(self, name: str) -> dict[str, Any]:
        """Return the tokens of a user after a login by password."""
        return await self._as_service().login(name)

    async def personal(self, name: str, *scopes: str) -> dict[str, Any]:
        """Return a personal token of a user."""
        return await self._as_service().personal(name, *scopes)

    async def grant_everyone(self) -> str:
        """Let everybody use every cluster; return the grant's id."""
        grant = GrantRecord(self.identities.new_id(), EVERY_CLUSTER, GrantRole.USE, self.identities.now())
        async with self.identities.change() as connection:
            await groups.add_grant(connection, grant)
        return grant.id

    def _as_service(self) -> service.Service:
        return service.Service(self.identities, self.app, self.client, service.Clock(time.time()))


@contextlib.asynccontextmanager
async def replica(
    url: str,
    *specs: ClusterSpec,
    limits: ClusterLimits = FAST,
    now: Callable[[], float] = time.time,
    **identity: Any,
) -> AsyncIterator[Replica]:
    """Give a service over a database that has its tables, and whose clusters have been reached."""
    database = await open_database(url, SCHEMA)
    identities = open_identities(database, replace(IDENTITY, **identity), now, MASTER)
    services = open_services(
        database, MASTER.derived("jobs"), identities.authority, identities, Settings(clusters=limits), now
    )
    app = create_app(services)
    await services.clusters.start(specs)
    transport = httpx2.ASGITransport(app, client=(ADDRESS, 40000))
    try:
        async with httpx2.AsyncClient(transport=transport, base_url=IDENTITY.issuer) as client:
            yield Replica(identities, services, app, client)
    finally:
        await services.streams.hub.close()
        await services.clusters.close()
        await database.close()
