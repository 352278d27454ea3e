"""Logging in at an OpenID provider by the page."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from restful.identity.oidc_logins import OidcLogins
from restful.store import users
from restful.store.users import UserState
from tests.restful.identity.provider import ISSUER, PROVIDER, FakeProvider
from tests.restful.identity.service import START, within
from tests.restful.page.service import Browser, Page, heading, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx2

TRY_AGAIN = "This browser has no login under way; try again."


@contextlib.asynccontextmanager
async def at_provider(
    folder: Path, provider: FakeProvider, **settings: Any
) -> AsyncIterator[tuple[Page, Browser]]:
    """Give a service with a provider, and a browser."""
    async with opened(folder, **settings) as page, provider.client() as http:
        redirect = replace(PROVIDER, redirect_uri=f"{page.issuer}/callback")
        services = replace(page.services, oidc=OidcLogins(page.users.identities, redirect, http))
        page.users.app.state.services = services
        browser = page.browser()
        async with browser.client:
            yield page, browser


async def log_in(
    browser: Browser, provider: FakeProvider, path: str = "/account", **query: str
) -> httpx2.Response:
    """Go to the provider, log in there, and come back."""
    away = await browser.get(f"/login/oidc?next={path}")
    assert away.status_code == 303, away.text
    answer = {**provider.log_in(away.headers["location"]), **query}
    return await browser.client.get("/callback", params={name: each for name, each in answer.items() if each})


def test_a_user_comes_back_logged_in(tmp_path: Path) -> None:
    async def test() -> None:
        provider = FakeProvider(START)
        async with at_provider(tmp_path, provider) as (page, browser):
            shown = (await browser.get("/login?next=/usage")).text
            assert 'href="/login/oidc?next=/usage">Log in at idp.example</a>' in shown
            answer = await log_in(browser, provider, "/usage")
            assert (answer.status_code, answer.headers["location"]) == (303, "/usage")
            session, attempt = answer.headers.get_list("set-cookie")
            assert session.startswith("__Host-mc=mcs_")
            assert attempt.startswith("__Host-mc-oidc=; ")
            assert attempt.endswith("Max-Age=0")
            assert "dora" in (await browser.get("/account")).text
            assert [each for each in await page.users.audit() if each[0] in {"user.create", "login"}][:2] == [
                ("user.create", "ok"), ("login", "ok"),
            ]  # fmt: skip

    within(test())


def test_the_attempts_cookie_comes_back_from_the_provider(tmp_path: Path) -> None:
    async def test() -> None:
        async with at_provider(tmp_path, FakeProvider(START)) as (_, browser):
            away = await browser.get("/login/oidc")
            assert away.headers["location"].startswith(f"{ISSUER}/authorize?")
            cookie = away.headers["set-cookie"]
            assert cookie.startswith("__Host-mc-oidc=")
            assert cookie.endswith("; Path=/; HttpOnly; Secure; SameSite=Lax")

    within(test())


def test_over_plain_http_a_page_leads_on(tmp_path: Path) -> None:
    """A cookie with SameSite=Strict is not sent along a redirect that began at another site."""

    async def test() -> None:
        provider = FakeProvider(START)
        async with at_provider(tmp_path, provider, issuer="http://127.0.0.1:8080") as (_, browser):
            answer = await log_in(browser, provider, "/usage")
            assert (answer.status_code, heading(answer)) == (200, "You are logged in")
            assert '<meta http-equiv="refresh" content="0; url=/usage">' in answer.text
            assert '<a href="/usage">Go on</a>' in answer.text
            session, _ = answer.headers.get_list("set-cookie")
            assert session.endswith("SameSite=Strict")

    within(test())


ELSEWHERE = ["//evil.example", "/%5Cevil.example", "https://evil.example/", "%2F%09%2Fevil"]


def test_it_leads_to_no_other_site(tmp_path: Path) -> None:
    async def test() -> None:
        provider = FakeProvider(START)
        async with at_provider(tmp_path, provider) as (_, browser):
            for path in ELSEWHERE:
                assert (await log_in(browser, provider, path)).headers["location"] == "/"

    within(test())


REFUSED = [
    ({"state": "x"}, "The answer belongs to another login; try again."),
    ({"iss": "https://evil.example"}, "The answer is of another provider."),
    ({"error": "access_denied"}, "The provider refused: &#39;access_denied&#39;."),
    ({"code": "bad"}, "The provider answered 400 in place of JSON."),
    ({"code": ""}, "The answer has no code."),
]


def test_who_is_not_let_in_reads_why(tmp_path: Path) -> None:
    async def test() -> None:
        provider = FakeProvider(START)
        async with at_provider(tmp_path, provider) as (_, browser):
            for query, words in REFUSED:
                answer = await log_in(browser, provider, **query)
                assert answer.status_code == 403
                assert "You are not logged in." in answer.text
                assert words in answer.text
                assert "Log in at idp.example" in answer.text
                assert PROVIDER.client_secret not in answer.text
                kept = [each.split("=")[0] for each in answer.headers.get_list("set-cookie")]
                assert kept == ["__Host-mc-oidc"]
                assert (await browser.get("/account")).status_code == 303

    within(test())


def test_another_browsers_answer_lets_nobody_in(tmp_path: Path) -> None:
    async def test() -> None:
        provider = FakeProvider(START)
        async with at_provider(tmp_path, provider) as (page, browser):
            away = await browser.get("/login/oidc")
            answer = provider.log_in(away.headers["location"])
            other = page.browser()
            async with other.client:
                got = await other.client.get("/callback", params=answer)
            assert (got.status_code, TRY_AGAIN in got.text) == (403, True)
            twice = [*answer.items(), ("state", "x")]
            assert (await browser.client.get("/callback", params=twice)).status_code == 400

    within(test())


def test_a_user_who_is_disabled_is_not_let_in(tmp_path: Path) -> None:
    async def test() -> None:
        provider = FakeProvider(START)
        async with at_provider(tmp_path, provider) as (page, browser):
            await log_in(browser, provider)
            async with page.users.identities.change() as connection:
                found = await users.by_name(connection, "oidc:dora")
                assert found is not None
                await users.change(connection, found.id, {"state": UserState.DISABLED}, end=True)
            answer = await log_in(browser, provider)
            assert (answer.status_code, "The user may not log in." in answer.text) == (403, True)

    within(test())


def test_a_name_that_is_somebody_elses(tmp_path: Path) -> None:
    async def test() -> None:
        provider = FakeProvider(START)
        async with at_provider(tmp_path, provider) as (_, browser):
            await log_in(browser, provider)
            provider.claims["sub"] = "another one"
            answer = await log_in(browser, provider)
            assert answer.status_code == 403
            assert "The name oidc:dora is somebody else&#39;s here; ask an admin." in answer.text

    within(test())


def test_a_provider_that_is_away(tmp_path: Path) -> None:
    async def test() -> None:
        provider = FakeProvider(START, metadata={"token_endpoint": "http://idp.example/token"})
        async with at_provider(tmp_path, provider) as (_, browser):
            answer = await browser.get("/login/oidc?next=/usage")
            assert answer.status_code == 502
            assert "The metadata of https://idp.example lack an endpoint with https." in answer.text
            assert "set-cookie" not in answer.headers
            assert 'name="next" value="/usage"' in answer.text

    within(test())


def test_the_metadata_are_asked_for_once_in_ten_minutes(tmp_path: Path) -> None:
    async def test() -> None:
        provider = FakeProvider(START)
        async with at_provider(tmp_path, provider) as (page, browser):
            assert (await browser.get("/login/oidc")).status_code == 303
            provider.metadata = {"authorization_endpoint": "https://idp.example/elsewhere"}
            page.users.clock.time += 599
            assert "/authorize?" in (await browser.get("/login/oidc")).headers["location"]
            page.users.clock.time += 2
            assert "/elsewhere?" in (await browser.get("/login/oidc")).headers["location"]

    within(test())


def test_logins_at_a_provider_are_counted_by_address(tmp_path: Path) -> None:
    async def test() -> None:
        async with at_provider(tmp_path, FakeProvider(START), login_burst=2, anonymous_burst=2) as (
            _,
            browser,
        ):
            statuses = [(await browser.get("/login/oidc")).status_code for _ in range(3)]
            assert statuses == [303, 303, 429]
            answers = [await browser.get("/callback?state=x&code=x") for _ in range(3)]
            assert [each.status_code for each in answers] == [403, 403, 429]
            assert int(answers[-1].headers["retry-after"]) > 0

    within(test())


def test_without_a_provider_there_is_no_button(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as page:
            browser = page.browser()
            async with browser.client:
                assert "/login/oidc" not in (await browser.get("/login")).text
                for path in ("/login/oidc", "/callback?code=x"):
                    answer = await browser.get(path)
                    assert answer.status_code == 404
                    assert "This service has no OpenID provider." in answer.text

    within(test())
