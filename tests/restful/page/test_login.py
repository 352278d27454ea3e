"""Logging in and out by the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.identity import web_sessions
from restful.page.forms import next_path
from tests.restful.identity.service import PASSWORD, within
from tests.restful.page.service import Browser, Page, heading, hidden, opened

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
POSTED = ("/logout", "/password", "/tokens", "/tokens/revoke", "/jobs/new", "/jobs/cancel", "/device")
"""Where forms go that need a login."""


def run(folder: Path, test: Callable[[Page, Browser], Awaitable[None]], **settings: object) -> None:
    """Run a test with a browser, and the user alice."""

    async def main() -> None:
        async with opened(folder, **settings) as page:
            await page.users.add_user("alice")
            browser = page.browser()
            async with browser.client:
                await test(page, browser)

    within(main())


async def link_of(page: Page) -> str:
    token = await web_sessions.first_admin_link(page.users.identities)
    assert token is not None
    return f"/login/link?token={token}"


def test_every_answer_has_the_headers(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        await browser.log_in("alice", PASSWORD)
        others = ("/login", "/login/link?token=x", "/jobs/mc/f1", "/jobs/mc/f1/output")
        for path in ("/", "/jobs", "/jobs/new", "/account", "/device", *others):
            headers = (await browser.get(path)).headers
            assert headers["content-security-policy"] == CSP
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"

    run(tmp_path, test)


def test_static_files_are_kept_for_ever(tmp_path: Path) -> None:
    async def test(_: Page, browser: Browser) -> None:
        text = (await browser.get("/login")).text
        found = re.findall(r'(?:href|src)="(/static/[^"]+)"', text)
        answers = [await browser.get(path) for path in found]
        assert [each.headers["content-type"] for each in answers] == [
            "image/svg+xml",
            "text/css; charset=utf-8",
            "text/javascript; charset=utf-8",
        ]
        for answer in answers:
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        other = await browser.get("/static/0123456789abcdef/page.css")
        assert (other.status_code, other.headers["cache-control"]) == (404, "no-store")

    run(tmp_path, test)


def test_no_page_has_a_script_or_a_style_in_it(tmp_path: Path) -> None:
    async def test(_: Page, browser: Browser) -> None:
        await browser.log_in("alice", PASSWORD)
        for path in ("/login", "/account", "/jobs", "/jobs/new"):
            text = (await browser.get(path)).text
            assert re.findall(r"<script(?! src=)", text) == []
            assert re.findall(r"<style|\sstyle=|\son\w+=", text) == []

    run(tmp_path, test)


def test_a_link_logs_in_by_its_button_and_once(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        path = await link_of(page)
        for _ in range(2):  # a preview does not use it up
            shown = await browser.get(path)
            assert heading(shown) == "Log in by a link"
            assert "set-cookie" not in shown.headers
        answer = await browser.fill(path, "/login/link")
        assert (answer.status_code, answer.headers["location"]) == (303, "/account#password")
        assert '<p>admin <span class="note">admin</span></p>' in (await browser.get("/account")).text
        other = page.browser()
        async with other.client:
            again = await other.fill(path, "/login/link")
        assert again.status_code == 403
        assert heading(again) == "This link does not log in"
        assert "This link was used before, has expired" in again.text
        assert "Start `minicluster serve` again" in again.text
        assert "set-cookie" not in again.headers

    run(tmp_path, test)


def test_a_link_is_good_for_a_quarter_of_an_hour(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        path = await link_of(page)
        page.users.clock.time += 901
        assert (await browser.fill(path, "/login/link")).status_code == 403

    run(tmp_path, test)


@pytest.mark.parametrize(
    ("issuer", "cookie", "protection"),
    [
        ("https://mc.example", "__Host-mc=mcs_", "; Path=/; HttpOnly; Secure; SameSite=Lax"),
        ("http://127.0.0.1:8080", "mc-8080=mcs_", "; Path=/; HttpOnly; SameSite=Strict"),
    ],
)
def test_the_cookie_is_the_hosts_alone(tmp_path: Path, issuer: str, cookie: str, protection: str) -> None:
    async def test(_: Page, browser: Browser) -> None:
        answer = await browser.fill("/login", "/login", name="alice", password=PASSWORD)
        stated = answer.headers["set-cookie"]
        assert stated.startswith(cookie)
        assert stated.endswith(protection)

    run(tmp_path, test, issuer=issuer)


def test_a_wrong_password_is_refused_and_later_has_to_wait(tmp_path: Path) -> None:
    async def test(_: Page, browser: Browser) -> None:
        answers = [await browser.fill("/login", "/login", name="alice", password="x") for _ in range(8)]
        assert answers[0].status_code == 403
        assert "The name or the password is wrong, or the user may not log in." in answers[0].text
        assert 'value="alice"' in answers[0].text
        assert answers[-1].status_code == 429
        assert int(answers[-1].headers["retry-after"]) > 0
        assert "Too many logins failed; the next is accepted in" in answers[-1].text

    run(tmp_path, test)


def test_who_is_not_logged_in_goes_on_behind_the_login(tmp_path: Path) -> None:
    async def test(_: Page, browser: Browser) -> None:
        answer = await browser.get("/device?user_code=BCDF-GHJK")
        assert answer.status_code == 303
        where = answer.headers["location"]
        assert where == "/login?next=%2Fdevice%3Fuser_code%3DBCDF-GHJK"
        part = await browser.client.get("/account", headers={"hx-request": "true"})
        assert (part.status_code, part.headers["hx-redirect"]) == (200, "/login?next=%2Faccount")
        after = await browser.fill(where, "/login", name="alice", password=PASSWORD)
        assert after.headers["location"] == "/device?user_code=BCDF-GHJK"

    run(tmp_path, test)


def test_a_form_without_a_login_leads_there(tmp_path: Path) -> None:
    async def test(_: Page, browser: Browser) -> None:
        for path in POSTED:
            answer = await browser.send(path, csrf="x")
            assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=%2F")

    run(tmp_path, test)


ELSEWHERE = ["//evil.example", "/\\evil.example", "https://evil.example/", "/\t/evil.example", "evil", ""]


@pytest.mark.parametrize("text", ELSEWHERE)
def test_the_login_leads_to_no_other_site(text: str, tmp_path: Path) -> None:
    async def test(_: Page, browser: Browser) -> None:
        form = {"name": "alice", "password": PASSWORD, "next": text}
        assert (await browser.send("/login", **form)).headers["location"] == "/"

    run(tmp_path, test)


@given(st.text())
def test_any_path_to_go_on_with_is_of_this_origin(text: str) -> None:
    found = next_path(f"/{text}")
    assert found.startswith("/")
    assert not found.startswith("//")
    assert "\\" not in found
    assert found.isascii()
    assert found.isprintable()


def test_logging_out_ends_the_session(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        await browser.log_in("alice", PASSWORD)
        value = browser.client.cookies["__Host-mc"]
        answer = await browser.fill("/account", "/logout")
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        assert "Max-Age=0" in answer.headers["set-cookie"]
        assert await web_sessions.find(page.users.identities, value) is None

    run(tmp_path, test)


def test_another_login_ends_the_session_before(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        await browser.log_in("alice", PASSWORD)
        before = browser.client.cookies["__Host-mc"]
        await browser.log_in("alice", PASSWORD)
        assert browser.client.cookies["__Host-mc"] != before
        assert await web_sessions.find(page.users.identities, before) is None

    run(tmp_path, test)


def test_forms_of_others_are_refused(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        path = await link_of(page)
        await browser.log_in("alice", PASSWORD)
        csrf = hidden((await browser.get("/account")).text, "/logout")["csrf"]
        attacker = Browser(browser.client, {"sec-fetch-site": "cross-site", "origin": "https://evil.example"})
        login = {"name": "alice", "password": PASSWORD, "token": path.partition("=")[2], "csrf": csrf}
        for where in ("/login", "/login/link", *POSTED):
            answer = await attacker.send(where, **login)
            assert answer.status_code == 403
            assert "This form was not sent by a page of this service." in answer.text
            assert "set-cookie" not in answer.headers

    run(tmp_path, test)


def test_a_form_has_its_own_sessions_token(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        await page.users.add_user("bob")
        other = page.browser()
        async with other.client:
            await other.log_in("bob", PASSWORD)
            theirs = hidden((await other.get("/account")).text, "/logout")["csrf"]
        await browser.log_in("alice", PASSWORD)
        for form in ({"other": "x"}, {"csrf": ""}, {"csrf": "x"}, {"csrf": theirs}):
            for path in POSTED:
                answer = await browser.send(path, **form)
                assert answer.status_code == 403
                assert "This form belongs to another login" in answer.text

    run(tmp_path, test)


def test_a_token_is_not_good_for_the_page(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        headers = await page.users.headers("alice")
        answer = await browser.client.get("/account", headers=headers)
        assert answer.status_code == 303

    run(tmp_path, test)


def test_a_body_that_is_no_form_is_refused_by_a_page(tmp_path: Path) -> None:
    async def test(_: Page, browser: Browser) -> None:
        answer = await browser.client.post("/login", json={"name": "alice"})
        assert answer.status_code == 400
        assert answer.headers["content-type"].startswith("text/html")
        assert "A form is sent as application/x-www-form-urlencoded." in answer.text
        twice = await browser.send("/login", name=["alice", "bob"], password="x")
        assert "The field name is there twice." in twice.text

    run(tmp_path, test)


def test_without_logins_a_browser_on_loopback_is_the_admins(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        await web_sessions.first_admin_link(page.users.identities)
        text = (await browser.get("/account")).text
        assert '<p>admin <span class="note">admin</span></p>' in text
        assert "Log out" not in text
        made = await browser.fill("/account", "/tokens", name="ci", days="1", scopes=["jobs:read"])
        assert made.status_code == 403
        assert "A request without a login may not make a personal token: log in." in made.text
        missing = await browser.send("/tokens", name="ci", days="1", scopes=["jobs:read"])
        assert missing.status_code == 403

    run(tmp_path, test, no_auth=True, issuer="http://127.0.0.1:8080")
