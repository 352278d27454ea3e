"""How streams live and end: with their feed, their reader, or his rights; nothing of them is left."""

from __future__ import annotations

import asyncio

import pytest

from restful.errors import HttpProblem
from restful.jobs.output.limits import StreamLimits
from tests.restful.output.driver import hanging_up, request, until
from tests.restful.output.scripted import Script
from tests.restful.output.service import OUTPUT, serving

FOLLOW = OUTPUT + "?format=sse"
LINE = (0, "stdout", b"x" * 99 + b"\n")
NEVER = 1e9
"""Seconds after which nothing happens in a test."""


def test_two_readers_take_from_one_stream() -> None:
    async def check() -> None:
        script = Script()
        async with serving(script) as service:
            async with (
                hanging_up(request(service.app, FOLLOW)) as first,
                hanging_up(request(service.app, FOLLOW)) as second,
            ):
                script.write(LINE)
                await first.has(b"id: 0")
                await second.has(b"id: 0")
                assert script.opened == [-1]
            assert first.body == second.body

    asyncio.run(check())


def test_who_is_behind_the_ring_reads_what_is_stored() -> None:
    """And goes on from the ring: the one stream more ends once he is there."""

    async def check() -> None:
        script = Script()
        async with (
            serving(script, ring_bytes=4000) as service,
            hanging_up(request(service.app, FOLLOW)) as first,
        ):
            for _ in range(100):
                script.write(LINE)
            await first.has(b"id: 99\n")
            async with hanging_up(request(service.app, FOLLOW)) as late:
                await late.has(b"id: 99\n")
                script.write(LINE)
                await late.has(b"id: 100\n")
                await until(lambda: len(script.streams) == 1, "the stream of his own is closed")
                assert script.opened == [-1, -1]
            assert [b"id: %d\n" % number in late.body for number in range(101)] == [True] * 101

    asyncio.run(check())


def test_what_nobody_takes_is_not_read() -> None:
    """A job's stored gigabyte is read as slowly as its only reader is."""

    async def check() -> None:
        script = Script()
        for _ in range(300):
            script.write(LINE)
        async with (
            serving(script, ring_bytes=4000, batch_bytes=4000) as service,
            hanging_up(request(service.app, FOLLOW)) as exchange,
        ):
            exchange.reading.clear()
            await until(lambda: script.given > 10, "the ring is full")
            given = script.given
            await asyncio.to_thread(lambda: None)
            assert script.given == given < 100
            exchange.reading.set()
            await exchange.has(b"id: 299\n")

    asyncio.run(check())


def test_a_slow_reader_is_let_go_and_resumes() -> None:
    async def check() -> None:
        script = Script()
        async with (
            serving(script, ring_bytes=4000, unsent_bytes=16_000) as service,
            hanging_up(request(service.app, FOLLOW)) as fast,
        ):
            slow = request(service.app, FOLLOW)
            script.write(LINE)
            await slow.has(b"id: 0\n")
            slow.reading.clear()
            for number in range(1, 200):
                script.write(LINE)
                await fast.has(b"id: %d\n" % number)
            await slow.ended()
            assert not slow.complete
            last = slow.body.rpartition(b"id: ")[2].split(b"\n")[0].decode()
            async with hanging_up(request(service.app, FOLLOW, headers={"Last-Event-ID": last})) as resumed:
                await resumed.has(b"id: 199\n")
                assert f"id: {int(last) + 1}\n".encode() in resumed.body

    asyncio.run(check())


def test_a_reader_who_takes_nothing_at_all_is_let_go() -> None:
    async def check() -> None:
        script = Script()
        async with serving(script, send_timeout=0.02) as service:
            exchange = request(service.app, FOLLOW)
            await exchange.has(b"retry")
            exchange.reading.clear()
            script.write(LINE)
            await exchange.ended()
            assert (exchange.complete, b"data" in exchange.body) == (False, False)

    asyncio.run(check())


def test_comments_show_that_a_quiet_stream_is_there() -> None:
    """Also where the job writes, but nothing that this reader wants."""

    async def check() -> None:
        script = Script()
        async with (
            serving(script, comment_interval=0.01) as service,
            hanging_up(request(service.app, FOLLOW + "&task=1")) as exchange,
        ):
            await exchange.has(b":\n\n:\n\n")
            script.write(LINE)
            await exchange.has(exchange.body + b":\n\n")

    asyncio.run(check())


@pytest.mark.parametrize("query", ["?format=sse", "?format=text&follow=true"])
def test_a_quiet_client_that_hangs_up_leaves_nothing(query: str) -> None:
    """Nothing is sent that would fail: the end of the connection alone is seen."""

    async def check() -> None:
        script = Script()
        async with serving(script, comment_interval=NEVER) as service:
            exchange = request(service.app, OUTPUT + query)
            await until(lambda: exchange.status == 200, "the answer has begun")
            await exchange.hang_up()
            await until(lambda: not script.streams, "the stream is closed")
            others = asyncio.all_tasks() - {asyncio.current_task()}
            assert {each for each in others if not each.done()} == set()

    asyncio.run(check())


REVOKED = [
    pytest.param(HttpProblem("unauthenticated"), 60.0, id="the token was revoked"),
    pytest.param(HttpProblem("not-found"), 60.0, id="the grant was removed"),
    pytest.param(HttpProblem("database-away"), 0.1, id="nobody knows"),
]


@pytest.mark.parametrize(("refusal", "timeout"), REVOKED)
def test_a_stream_ends_with_the_right_to_read_it(refusal: HttpProblem, timeout: float) -> None:
    async def check() -> None:
        script = Script()
        async with serving(script, access_interval=0.01, access_timeout=timeout) as service:
            exchange = request(service.app, FOLLOW)
            await until(lambda: service.asked > 2, "it was asked")
            assert not exchange.task.done()
            service.refusal = refusal
            await exchange.ended()
            assert (exchange.complete, b"event: end" in exchange.body) == (True, False)

    asyncio.run(check())


def test_text_that_is_cut_off_is_not_taken_for_whole() -> None:
    async def check() -> None:
        script = Script()
        script.write(LINE)
        async with serving(script, access_interval=0.01) as service:
            exchange = request(service.app, OUTPUT + "?follow=true")
            await exchange.has(b"x")
            service.refusal = HttpProblem("unauthenticated")
            await exchange.ended()
            assert not exchange.complete

    asyncio.run(check())


def test_by_default_a_stream_ends_within_ten_seconds() -> None:
    """The last check that succeeded may be as old as the timeout; one that fails at once is asked again."""
    limits = StreamLimits()
    assert limits.access_interval + limits.access_timeout <= 11.0
    assert limits.access_timeout < 10.0


@pytest.mark.parametrize(
    ("limits", "status", "words"),
    [
        ({"per_user": 1}, 429, b"You have 1 open streams"),
        ({"in_all": 1}, 503, b"1 streams are open here"),
    ],
)
def test_one_stream_too_many_is_refused(limits: dict[str, int], status: int, words: bytes) -> None:
    async def check() -> None:
        script = Script()
        async with serving(script, **limits) as service:
            async with hanging_up(request(service.app, FOLLOW)) as first:
                await first.has(b"retry")
                second = await request(service.app, FOLLOW).ended()
                assert (second.status, second.headers["retry-after"]) == (status, "10")
                assert words in second.body
            third = request(service.app, FOLLOW)
            async with hanging_up(third):
                await third.has(b"retry")

    asyncio.run(check())


@pytest.mark.parametrize("silently", [False, True], ids=["with an error", "as if at the end"])
def test_a_lost_connection_loses_nothing(silently: bool) -> None:
    """Not even where the job ends before the connection is back."""

    async def check() -> None:
        script = Script()
        async with serving(script) as service:
            exchange = request(service.app, FOLLOW)
            script.write(LINE)
            await exchange.has(b"id: 0\n")
            script.lose(silently=silently)
            script.write(LINE)
            script.finish()
            script.come_back()
            await exchange.ended()
            assert exchange.body.count(b"id: ") == 3
            assert script.opened == [-1, 0]

    asyncio.run(check())


def test_an_instance_that_stays_away_ends_the_stream_without_an_end() -> None:
    async def check() -> None:
        script = Script()
        async with serving(script, reopen_delays=(0.001, 0.001)) as service:
            exchange = request(service.app, FOLLOW)
            await until(lambda: script.streams, "it is followed")
            script.lose()
            await exchange.ended()
            assert (exchange.complete, b"event: end" in exchange.body) == (True, False)

    asyncio.run(check())


def test_a_service_that_ends_ends_its_streams() -> None:
    async def check() -> None:
        script = Script()
        async with serving(script) as service:
            exchange = request(service.app, FOLLOW)
            await exchange.has(b"retry")
            await service.streams.hub.close()
            await exchange.ended()
            assert exchange.complete
            late = await request(service.app, FOLLOW).ended()
            assert late.status == 503

    asyncio.run(check())
