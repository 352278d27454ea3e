"""A service in this process that finds MiniClusters at a real API server."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import httpx2

from minicluster.kube_client.access import Access
from minicluster.kube_client.client import ApiClient
from restful.clusters.spec import Tenancy
from restful.identity.identities import open_identities
from restful.identity.master_key import MasterKey
from restful.identity.settings import IdentitySettings
from restful.kubernetes.observed import MiniClusters
from restful.kubernetes.process import parts
from restful.services import open_services
from restful.store import users
from restful.store.users import UserKind, UserRecord, UserState
from tests.restful import databases
from tests.restful.jobs.service import FAST, MASTER, USERS, EveryoneUses, app_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from restful.identity.identities import Identities
    from restful.services import Services
    from restful.settings import Settings
    from tests.kubernetes.restful.fleet import Fleet

SECONDS = 240.0


@dataclass
class Found:
    """The service, and a client."""

    services: Services
    identities: Identities
    client: httpx2.AsyncClient

    async def ask(self, user: str, method: str, path: str, **more: Any) -> httpx2.Response:
        """Send a request as a user, below /v2/clusters."""
        headers = {"authorization": f"Bearer {user}", **more.pop("headers", {})}
        return await self.client.request(method, f"/v2/clusters{path}", headers=headers, **more)

    async def until(self, fact: Callable[[Any], object], path: str, user: str = "alice") -> Any:
        """Wait until what a path shows fulfils something, and return it."""
        last: Any = None
        try:
            async with asyncio.timeout(SECONDS):
                while True:
                    last = (await self.ask(user, "GET", path)).json()
                    if fact(last):
                        return last
                    await asyncio.sleep(0.05)  # a user may ask twenty times a second
        except TimeoutError as error:
            raise AssertionError(f"{path} shows {last}") from error

    async def ready(self, name: str, user: str = "alice") -> Any:
        """Wait until a cluster is connected to, and its jobs are known."""
        found = await self.until(lambda each: each.get("state") == "ready", f"/{name}", user)
        cluster = self.services.clusters.get(name)
        assert cluster is not None
        await asyncio.wait_for(cluster.caught_up.wait(), SECONDS)
        return found

    async def submit(self, name: str, *command: str, user: str = "alice") -> str:
        """Submit a job, and return its id."""
        answer = await self.ask(user, "POST", f"/{name}/jobs", json={"command": list(command)})
        assert answer.status_code == 201, answer.text
        return cast(str, answer.json()["id"])

    async def add_user(self, name: str) -> None:
        """Store one of USERS."""
        user = USERS[name]
        record = UserRecord(user.user, name, UserKind.USER, user.role, UserState.ACTIVE, 0, time.time())
        async with self.identities.change() as connection:
            await users.add(connection, record)


@contextlib.asynccontextmanager
async def following(
    folder: Path,
    kubeconfig: Path,
    fleet: Fleet,
    secret: tuple[str, str],
    *,
    namespaces: tuple[str, ...] = (),
    tenancy: Tenancy = Tenancy.SHARED,
    grants: EveryoneUses | None = None,
    settings: Settings = FAST,
) -> AsyncIterator[Found]:
    """Give a service that follows MiniClusters."""
    database = await databases.ready(folder / "rest.db")
    own = IdentitySettings(argon2_memory=8, argon2_passes=1, revision_interval=0.05)
    identities = open_identities(database, own, time.time, MasterKey(b"m" * 32))
    services = open_services(database, MASTER, grants or EveryoneUses(), identities, settings=settings)
    transport = httpx2.ASGITransport(app_of(services))
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(database.close)
        stack.push_async_callback(services.clusters.close)
        client = await stack.enter_async_context(ApiClient(Access(str(kubeconfig))))
        found = MiniClusters(namespaces, tenancy)
        begun = [
            asyncio.ensure_future(each)
            for each in parts(client, services, identities, found, secret, fleet.endpoint)
        ]
        web = await stack.enter_async_context(httpx2.AsyncClient(transport=transport, base_url="http://test"))
        try:
            yield Found(services, identities, web)
        finally:
            for each in begun:
                each.cancel()
            ended = await asyncio.gather(*begun, return_exceptions=True)
            assert [each for each in ended if not isinstance(each, asyncio.CancelledError)] == []
