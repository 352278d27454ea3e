"""Nodes and queues by the page, at an embedded instance."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from restful.errors import HttpProblem
from restful.jobs.schema import Submission
from tests.restful.identity.service import principal, within
from tests.restful.jobs.service import spec_of
from tests.restful.page.roles import browsers, csrf

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory
    from tests.restful.page.service import Browser, Page

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def run(embedded: Laboratory, tmp_path: Path) -> Callable[..., None]:
    """Runs a test with browsers, at the cluster mc of two nodes."""

    def with_browsers(test: Callable[[Page, dict[str, Browser]], Awaitable[None]]) -> None:
        async def main() -> None:
            async with browsers(tmp_path, spec_of(embedded), now=time.time) as (page, found):
                await test(page, found)

        within(main())

    return with_browsers


def row(text: str, name: str) -> str:
    """Return the row of a page's table that begins with a name."""
    return next(each for each in text.split("<tr>") if each.lstrip().startswith(f'<th scope="row">{name}<'))


async def until(browser: Browser, path: str, fact: Callable[[str], object]) -> str:
    """Wait until a page fulfils something; return it."""
    async with asyncio.timeout(60):
        while True:
            text = (await browser.get(path)).text
            if fact(text):
                return text
            await asyncio.sleep(0.05)


async def node_of(browser: Browser) -> str:
    """Return the host of the first node."""
    text = (await browser.get("/nodes")).text
    return text.partition('id="nodes-title"')[2].partition('<th scope="row">')[2].partition("<")[0]


def test_a_node_is_drained_and_undrained(run: Callable[..., None]) -> None:
    async def test(page: Page, found: dict[str, Browser]) -> None:
        olga, alice = found["olga"], found["alice"]
        node = await node_of(olga)
        form = {"csrf": await csrf(olga), "cluster": "mc", "node": node}
        answer = await olga.send("/nodes/drain", **form, reason=HOSTILE)
        assert (answer.status_code, answer.headers["location"]) == (303, "/nodes?cluster=mc#nodes")
        for browser in (olga, alice):
            text = await until(browser, "/nodes?cluster=mc", lambda text: "drained" in row(text, node))
            assert HOSTILE not in text
            assert "&lt;img src=x onerror=alert(1)&gt;" in row(text, node)
        assert "Undrain" in row((await olga.get("/nodes")).text, node)
        assert "ndrain the" not in (await alice.get("/nodes")).text
        assert (await olga.send("/nodes/undrain", **form)).status_code == 303
        await until(olga, "/nodes?cluster=mc", lambda text: "drained" not in row(text, node))
        again = await olga.send("/nodes/undrain", **form)
        assert again.status_code == 409
        log = await page.users.audit()
        assert [each for each in log if each[0].startswith("node.")] == [
            ("node.drain", "ok"), ("node.undrain", "ok"),
        ]  # fmt: skip

    run(test)


def test_a_queue_is_stopped_and_its_depth_is_shown(run: Callable[..., None]) -> None:
    async def test(page: Page, found: dict[str, Browser]) -> None:
        olga = found["olga"]
        alice = await page.users.add_user("anna")
        form = {"csrf": await csrf(olga), "cluster": "mc", "queue": "default"}
        answer = await olga.send("/queues/stop", **form, reason="a new kernel")
        assert (answer.status_code, answer.headers["location"]) == (303, "/nodes?cluster=mc#queues")
        await page.services.jobs.submit(principal(alice), "mc", Submission(command=["true"]))
        try:
            text = await until(
                olga, "/nodes", lambda text: 'data-label="Waiting" class="number">1<' in row(text, "default")
            )
            assert "stopped</span>: a new kernel" in row(text, "default")
            assert "Everybody&#39;s" in text
            others = (await found["alice"].get("/nodes")).text
            assert 'data-label="Waiting" class="number">0<' in row(others, "default")
            assert "Everybody" not in others
        finally:
            assert (await olga.send("/queues/start", **form)).status_code == 303
        await until(olga, "/nodes", lambda text: "starts jobs" in row(text, "default"))

    run(test)


def test_jobs_are_counted_by_node(run: Callable[..., None]) -> None:
    async def test(page: Page, found: dict[str, Browser]) -> None:
        anna = await page.users.add_user("anna")
        wanted = Submission(command=["sleep", "600"], nodes=2, tasks=2)
        submitted = await page.services.jobs.submit(principal(anna), "mc", wanted)
        try:
            node = await node_of(found["olga"])
            await until(
                found["olga"], "/nodes", lambda text: 'data-label="Jobs" class="number">1<' in row(text, node)
            )
            text = (await found["alice"].get("/nodes")).text
            assert 'data-label="Jobs" class="number">0<' in row(text, node)
        finally:
            await page.services.jobs.cancel(principal(anna), "mc", str(submitted.id))

    run(test)


def test_what_is_refused_is_shown_beside_the_cluster(run: Callable[..., None]) -> None:
    async def test(page: Page, found: dict[str, Browser]) -> None:
        node = await node_of(found["olga"])
        cases = [
            ("alice", "/nodes/drain", {"node": node}, 403, "that needs the scope nodes:drain."),
            ("alice", "/nodes/undrain", {"node": node}, 403, "that needs the scope nodes:drain."),
            ("alice", "/queues/stop", {"queue": "default"}, 403, "that needs the scope queues:manage."),
            ("alice", "/queues/start", {"queue": "default"}, 403, "that needs the scope queues:manage."),
            ("olga", "/nodes/drain", {"node": "absent"}, 404, "Cluster mc has no node &#39;absent&#39;."),
            ("olga", "/queues/stop", {"queue": "absent"}, 404, "Cluster mc has no queue &#39;absent&#39;."),
            ("olga", "/nodes/drain", {"node": node, "reason": "a\nb"}, 422, "Reason: needed is one line"),
            ("olga", "/nodes/drain", {"node": node, "reason": "x" * 501}, 422, "at most 500 characters"),
            ("olga", "/nodes/drain", {"node": node, "cluster": "x"}, 404, "There is no cluster &#39;x&#39;."),
        ]
        for who, path, form, status, words in cases:
            browser = found[who]
            answer = await browser.send(path, **{"csrf": await csrf(browser), "cluster": "mc", **form})
            assert (answer.status_code, path, words in answer.text) == (status, path, True), answer.text
        assert "drained" not in row((await found["olga"].get("/nodes")).text, node)

    run(test)


def test_an_instance_that_is_away_is_stated_on_the_page(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(page: Page, found: dict[str, Browser]) -> None:
        async def away(*_: object) -> None:
            raise HttpProblem("instance-away", "cluster mc: connection refused", headers={"Retry-After": "2"})

        monkeypatch.setattr(type(page.services.views), "nodes", away)
        answer = await found["alice"].get("/nodes")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "2"
        assert "Cluster mc: connection refused." in answer.text
        assert "Nodes of mc</h1>" in answer.text

    run(test)


def test_where_no_cluster_may_be_used(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            answer = await found["alice"].get("/nodes")
            assert answer.status_code == 200
            assert "There is no cluster that you may use." in answer.text
            assert (await found["alice"].get("/nodes?cluster=absent")).status_code == 404

    within(test())
