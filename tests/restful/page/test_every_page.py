"""Every page as everybody: who may see it, and that its HTML is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from fastapi.routing import APIRoute

from restful.audit import AuditEntry
from restful.identity import group_changes, personal_tokens, user_changes, web_sessions
from restful.identity.group_changes import NewGrant
from restful.identity.personal_tokens import TokenWish
from restful.identity.scopes import GrantRole
from restful.identity.user_changes import NewUser, UserChange
from restful.jobs import quota_changes
from restful.jobs.quota import Quota
from restful.jobs.quota_changes import NewQuota
from restful.page import account, login, nodes, provider_login, usage
from restful.page.admin import routes as admin
from restful.page.routes import router
from restful.store import users
from restful.store.users import UserState
from tests.restful.identity.service import START, principal, within
from tests.restful.jobs.service import spec_of
from tests.restful.page.markup import wrong_with
from tests.restful.page.roles import ROLES, browsers, csrf
from tests.restful.page.service import heading, opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi import APIRouter

    from tests.conformance.laboratory import Laboratory
    from tests.restful.page.service import Browser, Page


class Who(NamedTuple):
    """The status of a page for everybody, in the order of NAMES."""

    nobody: int
    alice: int
    olga: int
    root: int


EVERYBODY, MEMBERS, ADMINS = Who(200, 200, 200, 200), Who(303, 200, 200, 200), Who(303, 403, 403, 200)
LEADS_ON, LEADS_ADMINS_ON = Who(303, 303, 303, 303), Who(303, 403, 403, 303)
NOT_THERE, NO_ADMINS_PAGE = Who(404, 404, 404, 404), Who(303, 403, 403, 404)

PAGES = {
    "/login": EVERYBODY,
    "/login?next=/usage": EVERYBODY,
    "/login/link": EVERYBODY,
    "/login/oidc": NOT_THERE,
    "/callback": NOT_THERE,
    "/logout": LEADS_ON,
    "/nodes": MEMBERS,
    "/nodes?cluster=mc": MEMBERS,
    "/nodes?cluster=absent": Who(303, 404, 404, 404),
    "/nodes/drain": LEADS_ON,
    "/nodes/undrain": LEADS_ON,
    "/queues/start": LEADS_ON,
    "/queues/stop": LEADS_ON,
    "/usage": MEMBERS,
    "/usage?user=*": Who(303, 403, 200, 200),
    "/usage?cluster=mc&days=7": MEMBERS,
    "/usage?user=%00": Who(303, 400, 400, 400),
    "/nodes?cluster=%00": Who(303, 400, 400, 400),
    "/admin/users/%00": Who(303, 403, 403, 400),
    "/admin/users?after=%00": Who(303, 403, 403, 400),
    "/account": MEMBERS,
    "/password": LEADS_ON,
    "/tokens": LEADS_ON,
    "/tokens/revoke": LEADS_ON,
    "/sessions/end": LEADS_ON,
    "/sessions/end-others": LEADS_ON,
    "/admin": LEADS_ADMINS_ON,
    "/admin/users": ADMINS,
    "/admin/users?after=alice": ADMINS,
    "/admin/users/{user}": ADMINS,
    "/admin/users/{locked}": ADMINS,
    "/admin/users/absent": NO_ADMINS_PAGE,
    "/admin/users/{user}/state": LEADS_ADMINS_ON,
    "/admin/users/{user}/absent": NO_ADMINS_PAGE,
    "/admin/groups": ADMINS,
    "/admin/groups/{group}": ADMINS,
    "/admin/groups/absent": NO_ADMINS_PAGE,
    "/admin/groups/{group}/add": LEADS_ADMINS_ON,
    "/admin/groups/{group}/absent": NO_ADMINS_PAGE,
    "/admin/grants": ADMINS,
    "/admin/grants/delete": LEADS_ADMINS_ON,
    "/admin/clients": ADMINS,
    "/admin/clients/delete": LEADS_ADMINS_ON,
    "/admin/quotas": ADMINS,
    "/admin/quotas/{quota}": ADMINS,
    "/admin/quotas/absent": NO_ADMINS_PAGE,
    "/admin/quotas/{quota}/change": LEADS_ADMINS_ON,
    "/admin/quotas/{quota}/absent": NO_ADMINS_PAGE,
    "/admin/audit": ADMINS,
    "/admin/audit?user=root&since=2026-01-01": ADMINS,
    "/admin/audit/check": ADMINS,
}
"""What each path has, by who asks for it."""
OURS = (login, provider_login, nodes, usage, account, admin)
"""The modules whose pages are all in PAGES."""


def paths(routes: APIRouter, method: str) -> Iterator[str]:
    """Yield the paths of routes with a method, also of routers within."""
    for each in routes.routes:
        if isinstance(each, APIRoute):
            if method in each.methods:
                yield each.path
        else:
            yield from paths(each.original_router, method)  # type: ignore[attr-defined]


async def content(page: Page) -> dict[str, str]:
    """Make something of everything that pages show; return what stands for parts of paths."""
    identities, services = page.users.identities, page.services
    async with identities.database.read() as connection:
        root = await users.by_name(connection, "root")
        alice = await users.by_name(connection, "alice")
    assert root is not None
    assert alice is not None
    admin_ = principal(root)
    locked = await user_changes.create(identities, admin_, NewUser("lola", display="<b>"))
    await user_changes.change(identities, admin_, locked.id, locked.kind, UserChange(state=UserState.LOCKED))
    group = await group_changes.create_group(identities, admin_, "physics")
    await group_changes.add_member(identities, admin_, group.id, alice.id)
    await group_changes.create_grant(identities, admin_, NewGrant("mc", GrantRole.USE, None, group.id))
    wish = TokenWish("t", frozenset({"jobs:read"}), 86_400.0)
    await user_changes.create_client(identities, admin_, NewUser("pipeline"), wish)
    await personal_tokens.create(identities, principal(alice), wish)
    quota = await quota_changes.create(
        services.database, admin_, NewQuota("*", Quota(jobs=5, node_seconds=7200.0)), START
    )
    await identities.record(AuditEntry("", "", "192.0.2.9", "login", "user:unknown", "denied", "<b>"))
    return {"user": alice.id, "locked": locked.id, "group": group.id, "quota": quota.id}


def test_every_page_has_a_row() -> None:
    rows = {path.partition("?")[0].replace("{locked}", "{user}") for path in PAGES}
    missing = [
        path
        for module in OURS
        for path in paths(module.router, "GET")
        if path not in rows and not any(_fits(path, row) for row in rows)
    ]
    assert missing == []


def _fits(path: str, row: str) -> bool:
    """Return whether a row is an example of a route's path, such as of /admin/users/{user}/{what}."""
    parts, given = path.split("/"), row.split("/")
    return len(parts) == len(given) and all(
        a == b or a.startswith("{") for a, b in zip(parts, given, strict=True)
    )


@pytest.mark.parametrize("name", ["nobody", *ROLES])
def test_every_page_as_everybody(embedded: Laboratory, tmp_path: Path, name: str) -> None:
    async def test() -> tuple[dict[str, int], dict[str, list[str]]]:
        async with browsers(tmp_path, spec_of(embedded)) as (page, found):
            parts = await content(page)
            browser = found[name]
            statuses, wrong = {}, {}
            for path in PAGES:
                answer = await browser.get(path.format(**parts))
                statuses[path] = answer.status_code
                if answer.headers.get("content-type", "").startswith("text/html"):
                    wrong[path] = wrong_with(answer.text)
            return statuses, {path: found for path, found in wrong.items() if found}

    statuses, wrong = within(test())
    assert statuses == {path: getattr(who, name) for path, who in PAGES.items()}
    assert wrong == {}


def test_every_other_page_is_right_as_well(embedded: Laboratory, tmp_path: Path) -> None:
    """Pages of other modules, as far as they need no part in their path."""
    there = set(paths(router, "GET")) - {path for module in OURS for path in paths(module.router, "GET")}

    async def test() -> dict[str, list[str]]:
        async with browsers(tmp_path, spec_of(embedded)) as (_, found):
            wrong = {}
            for path in (each for each in sorted(there) if "{" not in each):
                answer = await found["root"].get(path)
                if answer.headers.get("content-type", "").startswith("text/html"):
                    wrong[path] = wrong_with(answer.text)
            return wrong

    wrong = within(test())
    assert wrong
    assert not any(wrong.values()), wrong


@pytest.mark.parametrize("name", ROLES)
def test_no_form_without_its_token_and_none_from_elsewhere(
    embedded: Laboratory, tmp_path: Path, name: str
) -> None:
    """For each form that one has to be logged in for, whoever sends it."""
    before = {"/login", "/login/link"}
    forms = [path for path in paths(router, "POST") if path not in before]

    async def test() -> list[str]:
        async with browsers(tmp_path, spec_of(embedded)) as (page, found):
            parts = {**await content(page), "what": "x", "cluster": "mc", "jobid": "f1"}
            browser: Browser = found[name]
            wrong = []
            for path in forms:
                where = path.format_map(_Anything(parts))
                elsewhere = await browser.client.post(
                    where, data={"csrf": "x"}, headers={"sec-fetch-site": "cross-site"}
                )
                without = await browser.send(where, csrf="x")
                if (elsewhere.status_code, without.status_code) != (403, 403):
                    wrong.append(f"{path}: {elsewhere.status_code} {without.status_code}")
                assert (await found["nobody"].send(where, csrf="x")).status_code == 303
            return wrong

    assert len(forms) > 20
    assert within(test()) == []


def test_forms_for_admins_are_nobody_elses(tmp_path: Path) -> None:
    """With the token of one's own session: what a user may not see he may not send either."""

    async def test() -> tuple[dict[str, set[int]], int]:
        async with browsers(tmp_path) as (page, found):
            statuses: dict[str, set[int]] = {}
            for name in ("alice", "olga"):
                token = await csrf(found[name])
                for path in paths(admin.router, "POST"):
                    where = path.format_map(_Anything())
                    answer = await found[name].send(where, csrf=token)
                    assert heading(answer) == "You may not do that"
                    assert "this needs the scope users:manage." in answer.text
                    statuses.setdefault(path, set()).add(answer.status_code)
            denied = [each for each in await page.users.audit() if each == ("request", "denied")]
            return statuses, len(denied)

    statuses, denied = within(test())
    assert statuses == {key: {403} for key in paths(admin.router, "POST")}
    assert denied == 2 * len(statuses)


def test_pages_without_a_login_on_loopback(tmp_path: Path) -> None:
    async def test() -> dict[str, list[str]]:
        async with opened(tmp_path, issuer="http://127.0.0.1:8080", no_auth=True) as page:
            await web_sessions.first_admin_link(page.users.identities)
            browser = page.browser()
            async with browser.client:
                found = {path: await browser.get(path) for path in ("/account", "/usage", "/admin/users")}
            assert {each.status_code for each in found.values()} == {200}
            assert "/logout" not in found["/account"].text
            return {path: wrong_with(each.text) for path, each in found.items()}

    assert not any(within(test()).values())


class _Anything(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "x"
