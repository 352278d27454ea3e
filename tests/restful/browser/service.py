"""A service with its page on loopback, behind a proxy that can lose connections, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import uvicorn

from broker_config.formats.jobid import f58, f58plain
from restful.identity import cookies, web_sessions
from restful.identity.caller import Caller
from restful.identity.principal import Principal, Role
from restful.identity.scopes import BY_ROLE, GrantRole
from restful.jobs.listing import ListingQuery
from restful.jobs.output.limits import StreamLimits
from restful.jobs.output.streams import streams
from restful.jobs.schema import Submission
from restful.store import groups
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from tests.devcluster.waiting import until
from tests.restful.browser.proxy import LossyProxy
from tests.restful.jobs.service import spec_of
from tests.restful.page.service import opened

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

    from restful.store.jobs import JobRecord
    from restful.store.users import UserRecord
    from tests.conformance.laboratory import Laboratory
    from tests.restful.page.service import Page

T = TypeVar("T")
SECONDS = 240.0
LIMITS = StreamLimits(retry_delay=0.05)


@dataclass(slots=True)
class BrowserService:
    """What tests call, from their own thread."""

    url: str
    page: Page
    proxy: LossyProxy
    loop: asyncio.AbstractEventLoop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the service's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(SECONDS)

    def add_user(self, name: str, role: Role = Role.USER) -> UserRecord:
        """Store a user, whose password is PASSWORD."""
        return self.run(self.page.users.add_user(name, role))

    def cookie(self, user: UserRecord) -> dict[str, str]:
        """Return the cookie of a new login, as Playwright has it."""
        session = self.run(
            web_sessions.open_session(self.page.users.identities, user, Caller("127.0.0.1", "test", "page"))
        )
        return {"name": cookies.policy(self.url).name, "value": session.cookie, "url": self.url}

    def submit(self, user: UserRecord, *command: str, **more: Any) -> SubmittedJob:
        """Submit a job of a user."""
        principal = Principal(user.id, user.name, user.role, BY_ROLE[user.role], "session")
        jobs = self.page.services.jobs
        found = self.run(jobs.submit(principal, "mc", Submission(command=list(command), **more)))
        return SubmittedJob(self, principal, found.id)

    def operate(self, user: UserRecord) -> None:
        """Let a user do at every cluster what his role may do."""
        self.run(self._operate(user))

    async def _operate(self, user: UserRecord) -> None:
        identities = self.page.users.identities
        grant = GrantRecord(
            identities.new_id(), EVERY_CLUSTER, GrantRole.OPERATE, identities.now(), user=user.id
        )
        async with identities.change() as connection:
            await groups.add_grant(connection, grant)

    def cancel_all(self, user: UserRecord) -> None:
        """Cancel what a user has, so that nothing of it is in the way of others."""
        principal = Principal(user.id, user.name, user.role, BY_ROLE[user.role], "session")
        active = ListingQuery(state=["active"])
        self.run(self.page.services.jobs.cancel_many(principal, "mc", active))

    def await_streams(self, count: int) -> None:
        """Wait until so many streams are open."""
        limiter = self.page.services.streams.limiter
        until(lambda: limiter.open == count, f"{count} open streams instead of {limiter.open}", 20)


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job that a test has submitted."""

    service: BrowserService
    principal: Principal
    number: int

    @property
    def id(self) -> str:
        """Return the id as pages show it."""
        return f58(self.number)

    @property
    def plain(self) -> str:
        """Return the id in ASCII."""
        return f58plain(self.number)

    @property
    def path(self) -> str:
        """Return the path of its page."""
        return f"/jobs/mc/{self.plain}"

    def record(self) -> JobRecord:
        """Return the job as the service has it."""
        return self.service.run(self.service.page.services.jobs.get(self.principal, "mc", self.plain))

    def await_end(self) -> JobRecord:
        """Wait until it has ended."""
        return until(
            lambda: None if self.record().active else self.record(), f"the end of {self.id}", SECONDS
        )


@contextlib.contextmanager
def serving(folder: Path, laboratory: Laboratory) -> Iterator[BrowserService]:
    """Give a service over one cluster, `mc`, which everybody may use."""
    started, ended = threading.Event(), asyncio.Event()
    made: list[BrowserService] = []
    failed: list[BaseException] = []

    async def serve() -> None:
        proxy = LossyProxy()
        url = f"http://127.0.0.1:{await proxy.start()}"
        async with opened(folder, spec_of(laboratory), now=time.time, issuer=url) as page:
            services = replace(page.services, streams=streams(LIMITS))
            page.users.app.state.services = services
            config = uvicorn.Config(page.users.app, port=0, log_level="warning", lifespan="off")
            server = uvicorn.Server(config)
            config.load()
            server.lifespan = config.lifespan_class(config)
            await server.startup()
            proxy.target = server.servers[0].sockets[0].getsockname()[1]
            made.append(
                BrowserService(url, replace(page, services=services), proxy, asyncio.get_running_loop())
            )
            started.set()
            running = asyncio.ensure_future(server.main_loop())
            await ended.wait()
            proxy.close()
            await services.streams.hub.close()
            server.should_exit = server.force_exit = True
            await running
            await server.shutdown()

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            failed.append(error)
            raise
        finally:
            started.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(SECONDS)
    assert made, failed
    try:
        yield made[0]
    finally:
        made[0].loop.call_soon_threadsafe(ended.set)
        thread.join(SECONDS)
