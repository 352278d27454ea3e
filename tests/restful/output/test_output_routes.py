"""A job's output by the routes, over a scripted job."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from minicluster.instance.records import JobException, JobResult
from restful.errors import MEDIA_TYPE
from tests.restful.output.driver import Exchange, request
from tests.restful.output.scripted import Script
from tests.restful.output.service import EVENTS, OUTPUT, serving

END = (
    'event: end\ndata: {"state":"inactive","result":"completed","returncode":0,"exception":null}\nid: end\n\n'
)


def answered(script: Script, target: str, **options: Any) -> Exchange:
    """Return what comes of one request, which must end by itself."""

    async def exchange() -> Exchange:
        async with serving(script) as service:
            return await request(service.app, target, **options).ended()

    return asyncio.run(exchange())


def written(*parts: tuple[int, str, bytes], ended: bool = True) -> Script:
    """Return a job that wrote each part as an entry of its own."""
    script = Script()
    for part in parts:
        script.write(part)
    if ended:
        script.finish()
    return script


def test_events_come_as_they_are_written_and_with_the_end() -> None:
    async def check() -> None:
        script = Script()
        async with serving(script) as service:
            exchange = request(service.app, OUTPUT + "?format=sse")
            script.write((0, "stdout", b"one\n"), (1, "stdout", b"one\n"))
            await exchange.has(b"id: 0")
            script.write((0, "stderr", b"\xff"))
            script.finish()
            await exchange.ended()
            assert exchange.body.decode() == (
                "retry: 2000\n\n"
                'event: stdout\ndata: {"task":0,"text":"one\\n"}\n\n'
                'event: stdout\ndata: {"task":1,"text":"one\\n"}\nid: 0\n\n'
                'event: stderr\ndata: {"task":0,"base64":"/w=="}\nid: 1\n\n' + END
            )
            assert exchange.complete

    asyncio.run(check())


def test_lines_of_json_have_the_same() -> None:
    exchange = answered(written((3, "stdout", b"a\n")), OUTPUT + "?format=json&follow=true")
    assert [json.loads(line) for line in exchange.body.splitlines()] == [
        {"event": "stdout", "task": 3, "text": "a\n", "id": 0},
        {"event": "end", "state": "inactive", "result": "completed", "returncode": 0, "exception": None},
    ]


@pytest.mark.parametrize("ended", [True, False], ids=["of a job that has ended", "of one that goes on"])
def test_without_following_there_is_what_was_written(ended: bool) -> None:
    script = written((0, "stdout", b"caf\xc3"), (1, "stdout", b"x"), (0, "stdout", b"\xa9\n"), ended=ended)
    exchange = answered(script, OUTPUT)
    assert (exchange.body.decode(), exchange.complete) == ("cafxé\n", True)


def test_the_id_comes_with_the_last_event_that_is_wanted() -> None:
    """Else a reader who follows one task would resume in front of what he has had."""
    script = Script()
    script.write((0, "stdout", b"a"), (1, "stdout", b"a"), (2, "stdout", b"a"))
    script.finish()
    exchange = answered(script, OUTPUT + "?format=sse&task=0-1&stream=stdout")
    assert exchange.body.decode() == (
        'retry: 2000\n\nevent: stdout\ndata: {"task":0,"text":"a"}\n\n'
        'event: stdout\ndata: {"task":1,"text":"a"}\nid: 0\n\n' + END
    )


AB = [(0, "stdout", b"a"), (0, "stdout", b"b")]
B = 'event: stdout\ndata: {"task":0,"text":"b"}\nid: 1\n\n'


@pytest.mark.parametrize(
    ("query", "headers", "expected"),
    [
        pytest.param("&after=0", {}, B + END, id="after"),
        pytest.param("", {"Last-Event-ID": "0"}, B + END, id="Last-Event-ID"),
        pytest.param("&after=1", {"Last-Event-ID": "0"}, B + END, id="a browser that comes again"),
        pytest.param("", {"Last-Event-ID": "1"}, END, id="one who has missed the end alone"),
    ],
)
def test_a_reader_goes_on_behind_what_he_has(query: str, headers: dict[str, str], expected: str) -> None:
    exchange = answered(written(*AB), f"{OUTPUT}?format=sse{query}", headers=headers)
    assert exchange.body.decode() == "retry: 2000\n\n" + expected


def test_a_browser_that_has_had_the_end_comes_no_more() -> None:
    """Anything but 204 would have it connect again for ever."""
    script = written(*AB)
    first = answered(script, OUTPUT, headers={"Accept": "text/event-stream"})
    last = first.body.decode().rpartition("id: ")[2].strip()
    again = answered(script, OUTPUT, headers={"Accept": "text/event-stream", "Last-Event-ID": last})
    assert (first.status, again.status, again.body) == (200, 204, b"")


@pytest.mark.parametrize(
    ("query", "headers", "words"),
    [
        pytest.param("?after=x", {}, "after is 'x': send the id of the last event", id="after"),
        pytest.param("", {"Last-Event-ID": "%"}, "Last-Event-ID is '%': send the id", id="Last-Event-ID"),
        pytest.param("?stream=stdin", {}, "stream is 'stdin'", id="stream"),
        pytest.param("?task=a", {}, "task is 'a'", id="task"),
    ],
)
def test_a_wrong_parameter_is_a_problem_with_words(query: str, headers: dict[str, str], words: str) -> None:
    exchange = answered(Script(), OUTPUT + query, headers=headers)
    assert (exchange.status, exchange.headers["content-type"]) == (400, MEDIA_TYPE)
    problem = json.loads(exchange.body)
    assert problem["detail"].startswith(words)
    assert (problem["type"], problem["instance"]) == ("/problems/malformed", OUTPUT)


@pytest.mark.parametrize(
    ("query", "media_type"),
    [
        ("", "text/plain; charset=utf-8"),
        ("?format=json", "application/jsonl; charset=utf-8"),
        ("?format=sse", "text/event-stream; charset=utf-8"),
    ],
)
def test_head_has_the_same_head_and_opens_nothing(query: str, media_type: str) -> None:
    script = written(*AB)
    head = answered(script, OUTPUT + query, method="HEAD")
    assert (head.status, head.body, script.opened) == (200, b"", [])
    assert head.headers["content-type"] == media_type
    got = answered(script, OUTPUT + query)
    assert got.headers == head.headers


def test_no_proxy_and_no_browser_makes_something_else_of_it() -> None:
    headers = answered(written(*AB), OUTPUT + "?format=sse").headers
    assert {name: headers.get(name) for name in ("cache-control", "x-accel-buffering")} == {
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert "content-length" not in headers


@pytest.mark.parametrize("target", [OUTPUT.replace("7", "8"), OUTPUT.replace("mc", "other")])
def test_what_may_not_be_followed_is_absent(target: str) -> None:
    exchange = answered(written(*AB), target)
    assert (exchange.status, json.loads(exchange.body)["type"]) == (404, "/problems/not-found")


@pytest.mark.parametrize("query", ["", "?format=json&follow=true", "?format=sse"])
def test_output_goes_with_its_instance(query: str) -> None:
    script = Script()
    script.known = False
    exchange = answered(script, OUTPUT + query)
    assert (exchange.status, json.loads(exchange.body)["detail"]) == (
        410,
        "The instance that ran this job is gone, and its output with it.",
    )


@pytest.mark.parametrize("query", ["", "?format=json&follow=true"])
def test_an_instance_that_is_away_is_a_problem(query: str) -> None:
    script = Script()
    script.away = True
    exchange = answered(script, OUTPUT + query)
    assert (exchange.status, exchange.headers["retry-after"]) == (503, "2")


def test_events_begin_while_the_instance_is_away() -> None:
    """A browser that gets a 503 never comes again."""

    async def check() -> None:
        script = written(*AB)
        script.away = True
        async with serving(script, open_timeout=0.01) as service:
            exchange = request(service.app, OUTPUT + "?format=sse")
            await exchange.has(b"retry")
            assert (exchange.status, b"data" in exchange.body) == (200, False)
            script.come_back()
            await exchange.ended()
            assert exchange.body.decode().endswith(B + END)

    asyncio.run(check())


def test_a_restarted_job_names_its_new_id() -> None:
    script = Script()
    script.successor = 2**53 + 1
    script.finish(result=JobResult.FAILED, waitstatus=None, exception=JobException("exec", 0, "node lost"))
    moved, end = answered(script, OUTPUT + "?format=sse").body.decode().split("\n\n")[1:3]
    assert moved == 'event: moved\ndata: {"id":9007199254740993,"f58":"ƒ2DLNrMSKui"}'
    assert '"exception":{"type":"exec","severity":0,"note":"node lost"}' in end


def test_a_jobs_events_come_as_events() -> None:
    async def check() -> None:
        script = Script()
        script.happen("submit", urgency=16)
        async with serving(script) as service:
            exchange = request(service.app, EVENTS + "?follow=true")
            await exchange.has(b"submit")
            script.happen("clean")
            script.finish()
            await exchange.ended()
            assert exchange.body.decode() == (
                "retry: 2000\n\n"
                'event: event\ndata: {"timestamp":1000.0,"name":"submit","context":{"urgency":16}}\nid: 0\n\n'
                'event: event\ndata: {"timestamp":1001.0,"name":"clean","context":{}}\nid: 1\n\n' + END
            )
            again = request(service.app, EVENTS + "?follow=true", headers={"Last-Event-ID": "0"})
            await again.ended()
            first, rest = exchange.body.split(b"id: 0\n\n")
            assert again.body == b"retry: 2000\n\n" + rest
            assert b"submit" in first

    asyncio.run(check())


def test_a_jobs_events_are_a_list_too() -> None:
    script = Script()
    script.happen("submit", urgency=16)
    script.happen("alloc")
    exchange = answered(script, EVENTS)
    assert exchange.headers["content-type"] == "application/json"
    assert json.loads(exchange.body) == {
        "events": [
            {"id": 0, "timestamp": 1000.0, "name": "submit", "context": {"urgency": 16}},
            {"id": 1, "timestamp": 1001.0, "name": "alloc", "context": {}},
        ]
    }
