"""Submitting, listing and cancelling jobs by the page, at an embedded instance."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING

import pytest

from restful.identity.principal import Role
from restful.identity.scopes import GrantRole
from restful.page import job_output
from restful.store import groups
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from tests.restful.identity.service import PASSWORD, within
from tests.restful.jobs.service import spec_of
from tests.restful.page.service import Browser, Page, hidden, opened

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory

HOSTILE = "<img src=x onerror=alert(1)>"
ESCAPED = "&lt;img src=x onerror=alert(1)&gt;"


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
    """Submit a job, and return the path of its page."""
    answer = await browser.fill("/jobs/new", "/jobs/new", command=command, **form)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def listed(browser: Browser, query: str = "") -> list[str]:
    """Return the paths of the jobs on the list, in its order."""
    return re.findall(r'id="open-\w+" href="(/jobs/mc/\w+)"', (await browser.get(f"/jobs{query}")).text)


async def ended(browser: Browser, path: str) -> str:
    """Wait until a job has ended; return its page."""
    async with asyncio.timeout(60):
        while True:
            text = (await browser.get(path)).text
            if "data-active" not in text:
                return text
            await asyncio.sleep(0.05)


def test_a_job_is_submitted_listed_and_shown(run: Callable[..., None]) -> None:
    async def test(page: Page, browser: Browser) -> None:
        first = await submit(browser, "printf 'a %s' \"<b>\"", tasks="2", nodes="1", name=HOSTILE)
        second = await submit(browser, "false")
        shown = await ended(browser, first)
        assert "2 tasks" in shown
        assert f"<h1>{ESCAPED} " in shown
        assert "printf &#39;a %s&#39; &#39;&lt;b&gt;&#39;" in shown
        assert '<strong>Tasks ended</strong> <span class="detail">exit code 0</span>' in shown
        assert '<span class="state failed">failed</span>' in await ended(browser, second)
        assert await listed(browser) == [second, first]
        assert HOSTILE not in shown + (await browser.get("/jobs")).text
        answer = await browser.get(f"{first}/output")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.text == "a <b>a <b>"
        file = await browser.get(f"{first}/output/file")
        assert file.text == "a <b>a <b>"
        assert file.headers["content-disposition"] == f'attachment; filename="{first.rpartition("/")[2]}.txt"'
        await page.users.add_user("bob")
        other = page.browser()
        async with other.client:
            await other.log_in("bob", PASSWORD)
            assert "You have no jobs here yet." in (await other.get("/jobs")).text
            for path in ("", "/output", "/output/file"):
                denied, absent = [await other.get(f"{job}{path}") for job in (first, "/jobs/mc/f2")]
                assert (denied.status_code, absent.status_code) == (404, 404)
                assert "There is no job" in denied.text

    run(test)


def test_a_form_that_is_sent_twice_is_one_job(run: Callable[..., None]) -> None:
    async def test(_: Page, browser: Browser) -> None:
        fields = hidden((await browser.get("/jobs/new")).text, "/jobs/new")
        form = {**fields, "command": "true"}
        answers = [await browser.send("/jobs/new", **form) for _ in range(2)]
        assert answers[0].headers["location"] == answers[1].headers["location"]
        assert len(await listed(browser)) == 1
        assert hidden((await browser.get("/jobs/new")).text, "/jobs/new")["key"] != fields["key"]

    run(test)


def test_what_is_wrong_with_a_job_is_shown_beside_its_field(run: Callable[..., None]) -> None:
    cases = [
        ({"command": "sh -c 'x"}, 422, "command", "cannot be split into words: no closing quotation"),
        ({"command": " "}, 422, "command", "is empty"),
        ({"tasks": "many"}, 422, "tasks", "Input should be a valid integer"),
        ({"tasks": "0"}, 422, "tasks", "Input should be greater than or equal to 1"),
        ({"nodes": "-1"}, 422, "nodes", "Input should be greater than or equal to 0"),
        ({"time_limit": "soon"}, 422, "time_limit", "is no duration; right would be 30s, 5m, 1.5h or 2d"),
        ({"environment": "A"}, 422, "environment", "&#39;A&#39; has no ="),
        ({"shell_options": "{"}, 422, "shell_options", "is no JSON"),
        ({"elastic.min": "3", "elastic.max": "2"}, 422, "elastic.min", "min 3 is greater than max 2"),
        ({"script": "echo"}, 422, "script", "does not begin with &#39;#!&#39;, as in #!/bin/sh"),
        ({"urgency": "20"}, 422, "urgency", "is at most 16 here, not 20"),
        ({"dependencies": "afterok:f2"}, 422, "dependencies", "there is no job &#39;f2&#39; here"),
        ({"cluster": HOSTILE}, 404, "", "there is no cluster"),
        ({"key": ""}, 400, "", "the form has no key: load the page again"),
    ]

    async def test(_: Page, browser: Browser) -> None:
        for given, status, name, words in cases:
            form = {"cluster": "mc", "command": "true", "name": HOSTILE, **given}
            answer = await browser.fill("/jobs/new", "/jobs/new", **form)
            assert answer.status_code == status, words
            assert words in answer.text
            assert (f'id="field-{name}-error"' in answer.text) is bool(name), words
            assert HOSTILE not in answer.text
            assert f'value="{ESCAPED}"' in answer.text
        assert await listed(browser) == []

    run(test)


def test_a_job_that_is_only_checked_is_not_submitted(run: Callable[..., None]) -> None:
    async def test(_: Page, browser: Browser) -> None:
        good = await browser.fill("/jobs/new", "/jobs/new", command="true", check="yes")
        assert "The cluster could run this job. It was not submitted yet." in good.text
        too_large = await browser.fill("/jobs/new", "/jobs/new", command="true", tasks="900", check="yes")
        assert "The cluster could never run this job as it is:" in too_large.text
        assert await listed(browser) == []

    run(test)


def test_lists_are_filtered_and_have_pages(run: Callable[..., None]) -> None:
    async def test(page: Page, browser: Browser) -> None:
        good = await submit(browser, "true", name="one")
        bad = await submit(browser, "false", name="two")
        waiting = await submit(browser, "true", name="three", urgency="0")
        for path in (good, bad):
            await ended(browser, path)
        assert await listed(browser, "?state=failed") == [bad]
        assert await listed(browser, "?state=inactive") == [bad, good]
        assert await listed(browser, "?state=active") == [waiting]
        assert await listed(browser, "?name=t*") == [waiting, bad]
        assert "No job matches." in (await browser.get("/jobs?name=x")).text
        others = await browser.get("/jobs?owner=*")
        assert others.status_code == 403
        assert "Owner: others&#39; jobs need the scope jobs:read:all." in others.text
        unknown = await browser.get("/jobs?state=x")
        assert (unknown.status_code, "&#39;x&#39; is no state of a job" in unknown.text) == (422, True)
        stale = await browser.get("/jobs?cursor=x")
        assert (stale.status_code, "Cursor: take it unchanged" in stale.text) == (400, True)
        await browser.fill(waiting, f"{waiting}/cancel")

    run(test)


def test_a_page_leads_to_older_jobs(run: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(page: Page, browser: Browser) -> None:
        paths = [await submit(browser, "true") for _ in range(3)]
        monkeypatch.setattr("restful.page.job_list.PAGE", 2)
        text = (await browser.get("/jobs")).text
        older = re.findall(r'href="([^"]+)" rel="next"', text)[0].replace("&amp;", "&")
        assert await listed(browser) == [paths[2], paths[1]]
        assert await listed(browser, older.removeprefix("/jobs")) == [paths[0]]

    run(test)


def test_an_operator_sees_everybodys_jobs_by_their_owners(run: Callable[..., None]) -> None:
    async def test(page: Page, browser: Browser) -> None:
        path = await submit(browser, "sleep 60", name="alices")
        user = await page.users.add_user("olga", Role.OPERATOR)
        identities = page.users.identities
        async with identities.change() as connection:
            grant = GrantRecord(identities.new_id(), EVERY_CLUSTER, GrantRole.OPERATE, 0.0, user=user.id)
            await groups.add_grant(connection, grant)
        other = page.browser()
        async with other.client:
            await other.log_in("olga", PASSWORD)
            assert path not in await listed(other)
            assert path in await listed(other, "?owner=*")
            assert await listed(other, "?owner=alice") == [path]
            nobody = await other.get("/jobs?owner=carol")
            assert (nobody.status_code, "There is no user &#39;carol&#39;." in nobody.text) == (422, True)
            raised = await other.fill(path, f"{path}/cancel")
            assert raised.headers["location"] == path
        assert "canceled" in await ended(browser, path)

    run(test)


def test_jobs_are_cancelled_from_the_list(run: Callable[..., None]) -> None:
    async def test(_: Page, browser: Browser) -> None:
        paths = [await submit(browser, "sleep 60", name="s") for _ in range(3)]
        ids = [each.rpartition("/")[2] for each in paths]
        done = await submit(browser, "true", name="t")
        await ended(browser, done)
        nothing = await browser.fill("/jobs?name=s", "/jobs/cancel")
        assert nothing.headers["location"] == "/jobs?cluster=mc&name=s&cancelled=0&left=0"
        assert "No job was chosen." in (await browser.get(nothing.headers["location"])).text
        chosen = await browser.fill("/jobs", "/jobs/cancel", job=[*ids[:2], done.rpartition("/")[2]])
        text = re.sub(r"\s+", " ", (await browser.get(chosen.headers["location"])).text)
        assert "2 jobs are being canceled. 1 has ended, or could not be canceled." in text
        one = await browser.fill("/jobs", "/jobs/cancel", one=ids[2])
        assert "1 job is being canceled." in (await browser.get(one.headers["location"])).text
        for path in paths:
            assert "canceled" in await ended(browser, path)

    run(test)


def test_acts_on_a_job_are_refused_in_words(run: Callable[..., None]) -> None:
    async def test(_: Page, browser: Browser) -> None:
        path = await submit(browser, "true", urgency="0")
        for given, status, words in (
            ("x", 422, "Urgency: a whole number from 0 to 31 is needed."),
            ("32", 422, "Urgency: a whole number from 0 to 31 is needed."),
            ("17", 403, "An urgency above 16 needs the scope jobs:urgency."),
        ):
            answer = await browser.fill(path, f"{path}/urgency", urgency=given)
            assert (answer.status_code, words in answer.text) == (status, True)
        csrf = hidden((await browser.get(path)).text, f"{path}/cancel")["csrf"]
        signal = await browser.send(f"{path}/kill", csrf=csrf, signal="SEGV")
        assert (signal.status_code, "Signal is one of HUP, INT" in signal.text) == (400, True)
        for act in ("cancel", "kill", "urgency"):
            back = await browser.get(f"{path}/{act}")
            assert (back.status_code, back.headers["location"]) == (303, path)
        assert (await browser.send(f"{path}/urgency", csrf=csrf, urgency="16")).status_code == 303
        await ended(browser, path)
        late = await browser.send(f"{path}/cancel", csrf=csrf)
        assert (late.status_code, "has ended: it can be looked at" in late.text) == (409, True)

    run(test)


def test_output_beyond_the_limit_is_cut(run: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_output, "MAX_BYTES", 6)

    async def test(_: Page, browser: Browser) -> None:
        path = await submit(browser, "printf 123456é789")
        await ended(browser, path)
        assert (await browser.get(f"{path}/output")).text == "123456" + job_output.CUT
        assert (await browser.get(f"{path}/output/file")).text == "123456é789"

    run(test)
