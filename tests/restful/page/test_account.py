"""One's password, tokens and devices by the page."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx2
import pytest

from minicluster.client import Client, oauth
from minicluster.client.connection import ServiceConnection
from minicluster.client.errors import LoginFailed
from minicluster.client.timing import Timing
from restful.identity import web_sessions
from restful.store import users
from tests.client.loopback import on_loopback
from tests.restful.identity.service import PASSWORD, START, Clock, bearer
from tests.restful.identity.test_authenticators import Directory
from tests.restful.page.service import hidden, opened
from tests.restful.page.test_login import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from fastapi import FastAPI

    from tests.restful.page.service import Browser, Page

NEW = "battery horse correct"
HOSTILE = "<img src=x onerror=alert(1)>"


def test_the_first_admin_sets_a_password(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        token = await web_sessions.first_admin_link(page.users.identities)
        await browser.fill(f"/login/link?token={token}", "/login/link")
        assert (
            "You have none yet. Once you are logged out, you cannot log in without it."
            in (await browser.get("/account")).text
        )
        short = await browser.fill("/account", "/password", new="short", again="short")
        assert short.status_code == 422
        assert "New: a password has 12 to 1024 characters." in short.text
        differ = await browser.fill("/account", "/password", new=NEW, again=PASSWORD)
        assert "Again: the two new passwords differ." in differ.text
        good = await browser.fill("/account", "/password", new=NEW, again=NEW)
        assert (good.status_code, good.headers["location"]) == (303, "/account#password")
        assert "Change your password" in (await browser.get("/account")).text
        without = await browser.fill("/account", "/password", new=PASSWORD, again=PASSWORD)
        assert without.status_code == 409
        assert "You have a password: state it to change it." in without.text
        await browser.log_in("admin", NEW)
        assert ("password.set", "ok") in await page.users.audit()

    run(tmp_path, test)


def test_a_password_is_changed_and_other_sessions_end(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        other = page.browser()
        async with other.client:
            await other.log_in("alice", PASSWORD)
            await browser.log_in("alice", PASSWORD)
            wrong = await browser.fill("/account", "/password", current="no", new=NEW, again=NEW)
            assert wrong.status_code == 403
            assert "The current password is wrong." in wrong.text
            page.users.clock.time += 60
            assert (
                await browser.fill("/account", "/password", current=PASSWORD, new=NEW, again=NEW)
            ).status_code == 303
            assert (await browser.get("/account")).status_code == 200
            assert (await other.get("/account")).status_code == 303

    run(tmp_path, test)


def test_who_logs_in_elsewhere_sets_no_password(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        identities = page.users.identities
        user = await page.users.add_user("carol", password=None)
        async with identities.change() as connection:
            await users.link(connection, "https://login.example", "7", user.id)
        link = await web_sessions.login_link(identities, user)
        answer = await browser.fill(f"/login/link?token={link}", "/login/link")
        assert answer.headers["location"] == "/"
        text = (await browser.get("/account")).text
        assert "You log in elsewhere: that is where your password is." in text
        form = {"csrf": hidden(text, "/logout")["csrf"], "new": NEW, "again": NEW}
        assert (await browser.send("/password", **form)).status_code == 403
        directory = Directory({"carol": PASSWORD}, "https://login.example")
        async with identities.change() as connection:
            await users.link(connection, directory.issuer, "carol", user.id)
        page.users.app.state.services = replace(
            page.services, identities=replace(identities, authenticators=(directory,))
        )
        assert (await browser.send("/password", **form, current=PASSWORD)).status_code == 403
        async with identities.database.read() as connection:
            stored = await users.by_id(connection, user.id)
        assert (directory.asked, stored) == (["carol"], user)

    run(tmp_path, test)


def test_a_token_is_shown_once_and_revoked(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        await browser.log_in("alice", PASSWORD)
        form = {"name": HOSTILE, "days": "7", "scopes": ["jobs:read", "clusters:read"]}
        made = await browser.fill("/account", "/tokens", **form)
        assert made.status_code == 201
        text = made.text.partition('readonly value="')[2].partition('"')[0]
        me = await page.users.client.get("/v2/me", headers=bearer(text))
        assert me.json()["scopes"] == "clusters:read jobs:read"
        home = (await browser.get("/account")).text
        assert text not in home
        assert HOSTILE not in home + made.text
        assert "&lt;img src=x onerror=alert(1)&gt;" in home
        fields = hidden(home, "/tokens/revoke")
        longer = await browser.send("/tokens/revoke", **{**fields, "token": f"{fields['token']}0"})
        assert longer.status_code == 404
        revoked = await browser.fill("/account", "/tokens/revoke")
        assert (revoked.status_code, revoked.headers["location"]) == (303, "/account#tokens")
        assert (await page.users.client.get("/v2/me", headers=bearer(text))).status_code == 401
        assert "/tokens/revoke" not in (await browser.get("/account")).text

    run(tmp_path, test)


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        (
            {"name": "ci", "days": "x", "scopes": "jobs:read"},
            422,
            "Days: a whole number from 1 on is needed.",
        ),
        ({"name": "ci", "days": "9999", "scopes": "jobs:read"}, 422, "A token lives for 365 days at most."),
        ({"name": "ci", "days": "1"}, 422, "Scopes: choose one at least."),
        ({"name": "ci", "days": "1", "scopes": "users:manage"}, 422, "beyond what this login may do"),
        ({"name": "", "days": "1", "scopes": "jobs:read"}, 422, "Name: needed is a name of one line."),
    ],
)
def test_a_token_is_refused_in_words(tmp_path: Path, form: dict[str, str], status: int, words: str) -> None:
    async def test(_: Page, browser: Browser) -> None:
        await browser.log_in("alice", PASSWORD)
        answer = await browser.fill("/account", "/tokens", **form)
        assert answer.status_code == status
        assert words.lower() in answer.text.lower().replace("&#39;", "'")

    run(tmp_path, test)


def test_others_tokens_are_as_absent_ones(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        await page.users.add_user("bob")
        theirs = await page.users.personal("bob", "jobs:read")
        await browser.log_in("alice", PASSWORD)
        csrf = hidden((await browser.get("/account")).text, "/logout")["csrf"]
        answers = [
            await browser.send("/tokens/revoke", csrf=csrf, token=each) for each in (theirs["id"], "0" * 26)
        ]
        assert [each.status_code for each in answers] == [404, 404]
        me = await page.users.client.get("/v2/me", headers=bearer(theirs["token"]))
        assert me.status_code == 200

    run(tmp_path, test)


def test_a_device_shows_its_client_and_what_it_gets(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        form = {"client_id": HOSTILE, "scope": "jobs:read"}
        code = (await page.users.client.post("/v2/oauth/device", data=form)).json()["user_code"]
        await browser.log_in("alice", PASSWORD)
        assert "The code that the device shows" in (await browser.get("/device")).text
        shown = await browser.get(f"/device?user_code={code.lower()}")
        assert HOSTILE not in shown.text
        assert "&lt;img src=x onerror=alert(1)&gt;" in shown.text
        assert code in shown.text
        assert "<dd>jobs:read</dd>" in shown.text
        neither = await browser.fill(f"/device?user_code={code}", "/device", decision="x")
        assert neither.status_code == 400
        denied = await browser.fill(f"/device?user_code={code}", "/device", decision="deny")
        assert "is not logged in." in denied.text

    run(tmp_path, test)


def test_a_code_that_no_device_waits_with_is_asked_again(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        code = (await page.users.client.post("/v2/oauth/device", data={"scope": ""})).json()["user_code"]
        await browser.log_in("alice", PASSWORD)
        fields = hidden((await browser.get(f"/device?user_code={code}")).text, "/device")
        page.users.clock.time += 601
        for answer in (
            await browser.get("/device?user_code=BCDF-GHJK"),
            await browser.get(f"/device?user_code={code}"),
            await browser.send("/device", **fields, decision="approve"),
        ):
            assert answer.status_code == 422
            assert "The code is wrong, or has expired." in answer.text

    run(tmp_path, test)


class Served:
    """A service on loopback, whose clock passes where the client sleeps; alice's browser acts then."""

    def __init__(self) -> None:
        self.url = ""
        self.clock = Clock(START)
        self.act: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        """Let time pass, after what the user does meanwhile."""
        self.clock.time += seconds
        self.act()


def decide(served: Served, address: str, decision: str) -> None:
    """Open an address as alice, log in, and answer."""
    served.act = lambda: None
    headers = {"sec-fetch-site": "same-origin", "origin": "null"}
    with httpx2.Client(base_url=served.url, headers=headers, follow_redirects=True) as browser:
        login = browser.get(address)
        form = {**hidden(login.text, "/login"), "name": "alice", "password": PASSWORD}
        shown = browser.post("/login", data=form)
        assert "minicluster" in shown.text
        answer = browser.post("/device", data={**hidden(shown.text, "/device"), "decision": decision})
        assert answer.status_code == 200, answer.text


@pytest.fixture
def served(tmp_path: Path) -> object:
    found = Served()

    @contextlib.asynccontextmanager
    async def app() -> AsyncIterator[FastAPI]:
        async with opened(tmp_path, issuer="http://127.0.0.1:8080") as page:
            found.clock = page.users.clock
            await page.users.add_user("alice")
            yield page.users.app

    with on_loopback(app) as found.url:
        yield found


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_minicluster_login_ends_with_the_answer_at_the_page(served: Served, decision: str) -> None:
    timing = Timing(served.clock, served.clock, served.sleep, random.random)
    with contextlib.closing(ServiceConnection(served.url, timing=timing)) as connection:
        code = oauth.device_code(connection)
        address = code.verification_uri_complete.removeprefix("http://127.0.0.1:8080")
        served.act = lambda: decide(served, address, decision)
        if decision == "deny":
            with pytest.raises(LoginFailed, match="denied at the page"):
                oauth.approved(connection, code)
            return
        login = oauth.approved(connection, code)
    with Client(served.url, login.token, timing=timing) as client:
        assert client.me()["name"] == "alice"
