"""How many threads read from instances: those that one who hangs does not let go count as well."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from restful.jobs.output.limits import StreamLimits
from tests.restful.output import scripted
from tests.restful.output.driver import hanging_up, request, until
from tests.restful.output.scripted import Script, ScriptedStream
from tests.restful.output.service import EVENTS, OUTPUT, serving

if TYPE_CHECKING:
    from restful.jobs.output.followed import Followed

FOLLOW = OUTPUT + "?format=sse"


class OwnScript(Script):
    """A job at somebody's own cluster."""

    def followed(self) -> Followed:
        return replace(super().followed(), owner="01MALLORY")


LIMITS: dict[str, tuple[type[Script], dict[str, int], bytes]] = {
    "all": (Script, {"threads": 2}, b"2 threads read from instances, which is the limit: try again later."),
    "one owner's": (
        OwnScript,
        {"threads_of_owner": 2},
        b"2 threads read from this user's clusters, which is the limit: try again later.",
    ),
}


@pytest.mark.parametrize(("kind", "limits", "words"), LIMITS.values(), ids=LIMITS)
def test_one_thread_too_many_is_refused(kind: type[Script], limits: dict[str, int], words: bytes) -> None:
    """Who follows what is followed already needs none."""

    async def check() -> None:
        async with serving(kind(), **limits) as service:
            targets = (FOLLOW, FOLLOW, EVENTS + "?follow=true")
            first, second, third = (request(service.app, each) for each in targets)
            async with hanging_up(first), hanging_up(second), hanging_up(third):
                for each in (first, second, third):
                    await each.has(b"retry")
                fourth = await request(service.app, OUTPUT).ended()
                assert (fourth.status, fourth.headers["retry-after"]) == (503, "10")
                assert words in fourth.body

    asyncio.run(check())


def test_streams_that_an_instance_does_not_let_go_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each had a thread that reads and one that ends it, without a limit, though no stream was open."""
    let_go, close = threading.Event(), ScriptedStream.close

    def hang(self: ScriptedStream) -> None:
        let_go.wait(60)
        close(self)

    monkeypatch.setattr(scripted.ScriptedStream, "close", hang)

    async def come_and_go(app: Any) -> int:
        exchange = request(app, FOLLOW)
        await until(lambda: exchange.body or exchange.status >= 400, "an answer")
        await exchange.hang_up()
        return exchange.status

    async def check() -> None:
        async with serving(OwnScript(), threads_of_owner=6) as service:
            found = [await come_and_go(service.app) for _ in range(6)]
            assert (found, service.streams.hub.threads) == ([200] * 3 + [503] * 3, 6)
            let_go.set()
            await until(lambda: service.streams.hub.threads == 0, "no thread is left")
            assert await come_and_go(service.app) == 200

    asyncio.run(check())


def test_all_streams_there_may_be_have_their_threads() -> None:
    limits = StreamLimits()
    assert limits.threads > 2 * limits.in_all
    assert limits.threads_of_owner > 2 * limits.per_user
