"""Submitting jobs and reading their output by the page, at an embedded instance."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING

import pytest

from restful.page import jobs as job_routes
from tests.restful.identity.service import PASSWORD, within
from tests.restful.jobs.service import spec_of
from tests.restful.page.service import Browser, Page, hidden, opened

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def run(embedded: Laboratory, tmp_path: Path) -> Callable[[Callable[[Page, Browser], Awaitable[None]]], None]:
    """Runs a test with alice's browser, at the cluster mc."""

    def with_alice(test: Callable[[Page, Browser], Awaitable[None]]) -> None:
        async def main() -> None:
            async with opened(tmp_path, spec_of(embedded), now=time.time) as page:
                await page.users.add_user("alice")
                browser = page.browser()
                async with browser.client:
                    await browser.log_in("alice", PASSWORD)
                    await test(page, browser)

        within(main())

    return with_alice


async def submit(browser: Browser, command: str, **form: str) -> str:
    """Submit a job, and return the path of its output."""
    answer = await browser.fill("/", "/jobs", cluster="mc", command=command, **form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/#jobs"), answer.text
    return outputs((await browser.get("/")).text)[0]


def outputs(text: str) -> list[str]:
    """Return the paths of outputs on the first page, in its order."""
    return re.findall(r'href="(/jobs/mc/[^"]+/output)"', text)


async def ended(browser: Browser) -> str:
    """Wait until no job of the page is active; return the page."""
    async with asyncio.timeout(60):
        while True:
            text = (await browser.get("/")).text
            states = re.findall(r'class="state (\w+)"', text)
            if states and set(states) <= {"completed", "failed", "canceled"}:
                return text
            await asyncio.sleep(0.1)


def test_a_job_is_submitted_listed_and_its_output_read(run: Callable[..., None]) -> None:
    async def test(page: Page, browser: Browser) -> None:
        first = await submit(browser, "printf 'a %s' \"<b>\"", tasks="2", nodes="1", name=HOSTILE)
        second = await submit(browser, "false")
        assert first != second
        text = await ended(browser)
        assert outputs(text) == [second, first]
        assert HOSTILE not in text
        assert '<th scope="row">&lt;img src=x onerror=alert(1)&gt;</th>' in text
        assert 'class="state failed"' in text
        answer = await browser.get(first)
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.text == "a <b>a <b>"
        await page.users.add_user("bob")
        other = page.browser()
        async with other.client:
            await other.log_in("bob", PASSWORD)
            assert "You have none yet." in (await other.get("/")).text
            denied, absent = [await other.get(path) for path in (first, "/jobs/mc/f2/output")]
        assert (denied.status_code, absent.status_code) == (404, 404)
        assert "There is no job" in denied.text

    run(test)


def test_a_form_that_is_sent_twice_is_one_job(run: Callable[..., None]) -> None:
    async def test(_: Page, browser: Browser) -> None:
        fields = hidden((await browser.get("/")).text, "/jobs")
        form = {**fields, "cluster": "mc", "command": "true", "tasks": "1", "nodes": "", "name": ""}
        assert [(await browser.send("/jobs", **form)).status_code for _ in range(2)] == [303, 303]
        text = (await browser.get("/")).text
        assert len(outputs(text)) == 1
        assert hidden(text, "/jobs")["key"] != fields["key"]

    run(test)


def test_what_is_wrong_with_a_job_is_shown_beside_the_form(run: Callable[..., None]) -> None:
    cases = [
        ({"command": "sh -c 'x"}, 422, "Command: cannot be split into words: no closing quotation."),
        ({"command": " "}, 422, "Command: is empty."),
        ({"command": "true", "tasks": "many"}, 422, "Tasks: Input should be a valid integer."),
        ({"command": "true", "tasks": "0"}, 422, "Tasks: Input should be greater than or equal to 1."),
        ({"command": "true", "nodes": "-1"}, 422, "Nodes: Input should be a valid integer."),
        ({"command": "true", "cluster": HOSTILE}, 404, "There is no cluster"),
        ({"command": "true", "key": ""}, 400, "The form has no key: load the page again."),
    ]

    async def test(_: Page, browser: Browser) -> None:
        for given, status, words in cases:
            form = {"cluster": "mc", "name": HOSTILE, **given}
            answer = await browser.fill("/", "/jobs", **form)
            assert answer.status_code == status
            assert words in answer.text
            assert HOSTILE not in answer.text
            assert 'value="&lt;img src=x onerror=alert(1)&gt;"' in answer.text
        assert outputs((await browser.get("/")).text) == []

    run(test)


def test_output_beyond_the_limit_is_cut(run: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_routes, "MAX_BYTES", 6)

    async def test(_: Page, browser: Browser) -> None:
        path = await submit(browser, "printf 123456é789")
        await ended(browser)
        assert (await browser.get(path)).text == "123456" + job_routes.CUT

    run(test)
