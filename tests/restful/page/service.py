"""The page of a service in this process, and a browser that keeps its cookie and sends forms as they are."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import httpx2

from minicluster.database import open_database
from restful.app import create_app
from restful.identity.cookies import policy
from restful.identity.identities import open_identities
from restful.identity.scopes import GrantRole
from restful.page.routes import router
from restful.services import open_services
from restful.store import groups
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from restful.store.schema import SCHEMA
from tests.database import ready_file
from tests.restful.identity.service import MASTER, SETTINGS, Clock
from tests.restful.identity.service import Service as Users
from tests.restful.jobs.service import FAST

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from fastapi import FastAPI

    from restful.clusters.spec import ClusterSpec
    from restful.services import Services

ORIGIN = "https://mc.example"
OURS = {"sec-fetch-site": "same-origin", "origin": "null"}
"""What a browser states for a form of a page with the policy `no-referrer`."""


class _Inputs(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append({"": found["action"]})
        elif tag == "input" and found.get("type") == "hidden":
            self.forms[-1][found["name"]] = found["value"]


def hidden(text: str, action: str) -> dict[str, str]:
    """Return the hidden fields of the first form of a page with an action."""
    parser = _Inputs()
    parser.feed(text)
    form = next(each for each in parser.forms if each[""] == action)
    return {name: value for name, value in form.items() if name}


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser; it follows no redirect."""

    client: httpx2.AsyncClient
    headers: dict[str, str] = field(default_factory=lambda: dict(OURS))

    async def get(self, path: str) -> httpx2.Response:
        """Ask for a page."""
        return await self.client.get(path)

    async def send(self, path: str, **form: Any) -> httpx2.Response:
        """Send a form as it is given."""
        return await self.client.post(path, data=form, headers=self.headers)

    async def fill(self, page: str, action: str, **form: Any) -> httpx2.Response:
        """Load a page, and send one of its forms with what a user fills in."""
        fields = hidden((await self.get(page)).text, action)
        return await self.send(action, **{**fields, **form})

    async def log_in(self, name: str, password: str) -> None:
        """Log in by a password."""
        answer = await self.fill("/login", "/login", name=name, password=password)
        assert (answer.status_code, answer.headers["location"]) == (303, "/"), answer.text


@dataclass(frozen=True, slots=True)
class Page:
    """A service with its page, and its users."""

    services: Services
    users: Users

    def browser(self) -> Browser:
        """Return a browser without a cookie."""
        transport = httpx2.ASGITransport(app=self.users.app, client=("192.0.2.1", 40000))
        return Browser(httpx2.AsyncClient(transport=transport, base_url=self.issuer))

    @property
    def issuer(self) -> str:
        """Where it is reached."""
        return self.users.identities.settings.issuer

    @property
    def cookie(self) -> str:
        """What a browser's cookie is called."""
        return policy(self.issuer).name


@contextlib.asynccontextmanager
async def opened(folder: Path, *specs: ClusterSpec, now: Any = None, **settings: Any) -> AsyncIterator[Page]:
    """Give a service with clusters that everybody may use."""
    file = folder / "page.db"
    file.write_bytes(ready_file.content(SCHEMA))
    database = await open_database(f"sqlite:///{file}", SCHEMA)
    clock = now or Clock()
    identities = open_identities(database, replace(SETTINGS, **settings), clock, MASTER)
    services = open_services(
        database, MASTER.derived("jobs"), identities.authority, identities, settings=FAST, now=clock
    )
    async with identities.change() as connection:
        grant = GrantRecord(identities.new_id(), EVERY_CLUSTER, GrantRole.USE, clock())
        await groups.add_grant(connection, grant)
    app = _app_over(services)
    await services.clusters.start(specs)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url=identities.settings.issuer) as client:
        try:
            for each in services.clusters:
                await each.caught_up.wait()
            yield Page(services, Users(identities, app, client, clock))
        finally:
            await services.clusters.close()
            await database.close()


_APPS: list[FastAPI] = []


def _app_over(services: Services) -> FastAPI:
    """Return the application, which is made once, as that takes long."""
    if not _APPS:
        _APPS.append(create_app(services, (router,)))
    _APPS[0].state.services = services
    return _APPS[0]


def heading(answer: httpx2.Response) -> str:
    """Return the first heading of a page."""
    found = re.search(r"<h1[^>]*>(.*?)</h1>", answer.text)
    assert found is not None, answer.text
    return found[1]
