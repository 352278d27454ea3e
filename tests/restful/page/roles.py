"""Browsers of each role, logged in."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from restful.identity import web_sessions
from restful.identity.principal import Role
from restful.identity.scopes import GrantRole
from restful.store import groups
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from tests.restful.identity.service import caller
from tests.restful.page.service import hidden, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import Any

    from restful.clusters.spec import ClusterSpec
    from restful.store.users import UserRecord
    from tests.restful.page.service import Browser, Page

ROLES = {"alice": Role.USER, "olga": Role.OPERATOR, "root": Role.ADMIN}
"""Users by name; olga may operate all clusters."""


@contextlib.asynccontextmanager
async def browsers(
    folder: Path, *specs: ClusterSpec, **more: Any
) -> AsyncIterator[tuple[Page, dict[str, Browser]]]:
    """Give a service, and a browser by name: of each of ROLES, and of nobody."""
    async with opened(folder, *specs, **more) as page, contextlib.AsyncExitStack() as stack:
        found: dict[str, Browser] = {}
        for name in (*ROLES, "nobody"):
            found[name] = browser = page.browser()
            await stack.enter_async_context(browser.client)
            if name in ROLES:
                user = await page.users.add_user(name, ROLES[name])
                await enter(page, browser, user)
                if name == "olga":
                    await _may_operate(page, user)
        yield page, found


async def enter(page: Page, browser: Browser, user: UserRecord) -> None:
    """Log a browser in."""
    session = await web_sessions.open_session(page.users.identities, user, caller())
    browser.client.cookies.set(page.cookie, session.cookie, domain=urlsplit(page.issuer).hostname or "")


async def csrf(browser: Browser) -> str:
    """Return the token of a browser's forms."""
    return hidden((await browser.get("/account")).text, "/logout")["csrf"]


async def _may_operate(page: Page, user: UserRecord) -> None:
    identities = page.users.identities
    async with identities.change() as connection:
        now = identities.now()
        grant = GrantRecord(identities.new_id(), EVERY_CLUSTER, GrantRole.OPERATE, now, user.id)
        await groups.add_grant(connection, grant)
