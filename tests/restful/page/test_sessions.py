"""Where one is logged in, on the page of one's account."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.restful.identity.service import PASSWORD
from tests.restful.page.roles import csrf
from tests.restful.page.test_login import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.restful.page.service import Browser, Page


def listed(text: str) -> list[str]:
    """Return the ids of the sessions that a page shows."""
    return re.findall(r'name="session" value="([^"]+)"', text)


def test_this_one_is_marked(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        await page.users.login("alice")
        await browser.log_in("alice", PASSWORD)
        text = (await browser.get("/account")).text
        assert len(listed(text)) == 2
        assert text.count("this one</span>") == 1
        marked = next(row for row in text.split("<tr>") if "this one</span>" in row)
        assert "Browser" in marked
        assert "from 192.0.2.1" not in marked
        assert "192.0.2.1" in marked

    run(tmp_path, test)


def test_one_is_ended(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        other = page.browser()
        async with other.client:
            await other.log_in("alice", PASSWORD)
            before = listed((await other.get("/account")).text)
            await browser.log_in("alice", PASSWORD)
            answer = await browser.fill("/account", "/sessions/end", session=before[0])
            assert (answer.status_code, answer.headers["location"]) == (303, "/account#sessions")
            assert (await other.get("/account")).status_code == 303
        assert len(listed((await browser.get("/account")).text)) == 1
        assert ("session.revoke", "ok") in await page.users.audit()

    run(tmp_path, test)


def test_all_others_are_ended(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        other = page.browser()
        async with other.client:
            await other.log_in("alice", PASSWORD)
            await browser.log_in("alice", PASSWORD)
            answer = await browser.fill("/account", "/sessions/end-others")
            assert (answer.status_code, answer.headers["location"]) == (303, "/account#sessions")
            assert (await other.get("/account")).status_code == 303
        text = (await browser.get("/account")).text
        assert len(listed(text)) == 1
        assert "/sessions/end-others" not in text

    run(tmp_path, test)


def test_to_end_this_one_is_to_log_out(tmp_path: Path) -> None:
    async def test(_: Page, browser: Browser) -> None:
        await browser.log_in("alice", PASSWORD)
        assert (await browser.fill("/account", "/sessions/end")).status_code == 303
        assert (await browser.get("/account")).headers["location"] == "/login?next=%2Faccount"

    run(tmp_path, test)


def test_others_sessions_are_as_absent_ones(tmp_path: Path) -> None:
    async def test(page: Page, browser: Browser) -> None:
        await page.users.add_user("bob")
        other = page.browser()
        async with other.client:
            await other.log_in("bob", PASSWORD)
            theirs = listed((await other.get("/account")).text)[0]
            await browser.log_in("alice", PASSWORD)
            token = await csrf(browser)
            answers = [
                await browser.send("/sessions/end", csrf=token, session=each) for each in (theirs, "0" * 26)
            ]
            assert [each.status_code for each in answers] == [404, 404]
            assert "There is no such thing here." in answers[0].text
            assert (await other.get("/account")).status_code == 200

    run(tmp_path, test)
