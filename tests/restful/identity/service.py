"""A service of the routes about users, in this process: over SQLite in a file, with a clock of its own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from minicluster.database import Database
from restful.errors import MEDIA_TYPE, HttpProblem
from restful.identity.caller import Caller
from restful.identity.identities import Identities, open_identities
from restful.identity.master_key import MasterKey
from restful.identity.principal import Principal, Role
from restful.identity.scopes import BY_ROLE
from restful.identity.settings import IdentitySettings
from restful.limits.token_bucket import Rates
from restful.routes import audit_log, me, oauth, users
from restful.settings import Settings
from restful.store import users as user_rows
from restful.store.users import UserKind, UserRecord, UserState
from tests.restful import databases

START = 1_800_000_000.0
PASSWORD = "correct horse battery"
ADDRESS = "192.0.2.1"
MANY = 10**9
SETTINGS = IdentitySettings(
    issuer="https://mc.example",
    argon2_memory=8,
    argon2_passes=1,
    login_burst=MANY,
    anonymous_burst=MANY,
    wrong_token_burst=MANY,
)
FILE = "service.db"
"""Tables as they are described: that migrations lead to the same is tried elsewhere."""
MASTER = MasterKey(b"m" * 32)


@dataclass(slots=True)
class Clock:
    """A clock that stands still until it is moved."""

    time: float = START

    def __call__(self) -> float:
        return self.time


@dataclass(frozen=True, slots=True)
class Service:
    """One replica, and a client at an address."""

    identities: Identities
    app: FastAPI
    client: httpx2.AsyncClient
    clock: Clock

    def at(self, address: str) -> httpx2.AsyncClient:
        """Return a client at another address."""
        return _client(self.app, address)

    async def add_user(
        self, name: str, role: Role = Role.USER, password: str | None = PASSWORD
    ) -> UserRecord:
        """Store a user."""
        hashed = None
        if password is not None:
            async with self.identities.passwords.slot():
                hashed = await self.identities.passwords.hash(password)
        user = UserRecord(
            id=self.identities.new_id(),
            name=name,
            kind=UserKind.USER,
            role=role,
            state=UserState.ACTIVE,
            epoch=0,
            created=self.clock(),
            password=hashed,
        )
        async with self.identities.change() as connection:
            await user_rows.add(connection, user)
        return user

    async def token(self, **form: str) -> httpx2.Response:
        """Ask for a token."""
        return await self.client.post("/v2/oauth/token", data=form)

    async def login(self, name: str, **form: str) -> dict[str, Any]:
        """Return the tokens of a user after a login by password."""
        answer = await self.token(grant_type="password", username=name, password=PASSWORD, **form)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def headers(self, name: str, **form: str) -> dict[str, str]:
        """Return the header with an access token of a user."""
        return bearer((await self.login(name, **form))["access_token"])

    async def personal(self, name: str, *scopes: str) -> dict[str, Any]:
        """Return a personal token of a user."""
        answer = await self.client.post(
            "/v2/me/tokens",
            json={"name": "script", "scopes": list(scopes)},
            headers=await self.headers(name),
        )
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def audit(self) -> list[tuple[str, str]]:
        """Return what the audit log has: actions and outcomes, the oldest first."""
        await self.ensure_admin("auditor")
        answer = await self.client.get(
            "/v2/audit", params={"limit": 500}, headers=await self.headers("auditor")
        )
        found = [(each["action"], each["outcome"]) for each in answer.json()["entries"]]
        return found[:0:-1]

    async def ensure_admin(self, name: str) -> UserRecord:
        """Return an admin, who is made if he is not there."""
        async with self.identities.database.read() as connection:
            found = await user_rows.by_name(connection, name)
        return found or await self.add_user(name, Role.ADMIN)


def bearer(token: str) -> dict[str, str]:
    """Return the header with a token."""
    return {"Authorization": f"Bearer {token}"}


def principal(user: UserRecord, kind: str = "access", token: str = "") -> Principal:
    """Return a user who asks with all of his role's scopes."""
    return Principal(user.id, user.name, user.role, BY_ROLE[user.role], kind, token, ADDRESS)


def caller(address: str = ADDRESS) -> Caller:
    """Return where a request comes from."""
    return Caller(address, "test", "minicluster")


@contextlib.asynccontextmanager
async def opened(path: Path, **settings: Any) -> AsyncIterator[Service]:
    """Give a service with a new database in a directory."""
    (path / FILE).unlink(missing_ok=True)
    async with database(path) as found:
        yield replica(found, Clock(), **settings)


@contextlib.asynccontextmanager
async def database(path: Path) -> AsyncIterator[Database]:
    """Give the database in a directory."""
    found = await databases.ready(path / FILE)
    try:
        yield found
    finally:
        await found.close()


def replica(found: Database, clock: Clock, number: int = 0, **settings: Any) -> Service:
    """Return a service with a memory of its own over a database; each number is one at a time."""
    identities = open_identities(found, replace(SETTINGS, **settings), clock, MASTER)
    app = mounted(number)
    app.state.services = SimpleNamespace(
        identities=identities, settings=Settings(), rates=Rates(MANY, MANY, MANY), now=clock
    )
    return Service(identities, app, _client(app, ADDRESS), clock)


@cache
def mounted(number: int = 0) -> FastAPI:
    """Return an application with the routes, and answers to problems: made once, as that takes long."""
    app = FastAPI()
    for each in (oauth, me, users, audit_log):
        app.include_router(each.router)

    @app.exception_handler(HttpProblem)
    async def problem(request: Request, error: HttpProblem) -> JSONResponse:
        content = error.body(request.url.path)
        return JSONResponse(content, error.status, error.headers, MEDIA_TYPE)

    return app


def _client(app: FastAPI, address: str) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=app, client=(address, 40000))
    return httpx2.AsyncClient(transport=transport, base_url="https://mc.example")


def within(work: Coroutine[Any, Any, Any], seconds: float = 60) -> Any:
    """Run a coroutine to its end, within a minute unless it has more to do."""

    async def limited() -> Any:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(limited())
