"""Following what is written: eventlogs, output and the journal."""

from __future__ import annotations

import asyncio
import base64
import errno
import json
from typing import Any

import pytest

from minicluster.embedded.errors import RpcError
from minicluster.embedded.jobs import output_limit
from tests.devcluster.waiting import SECONDS


def _follow(bench: Any, job: int, path: str, later: Any = lambda: None, **more: Any) -> list[dict[str, Any]]:
    """Everything that a watcher gets; `later` happens once it has to wait."""

    async def scenario() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        async def watch() -> None:
            watched = bench.call("job-info.eventlog-watch", id=job, path=path, **more)
            found.extend([json.loads(item["event"]) async for item in watched])

        watching = asyncio.ensure_future(watch())
        for _ in range(5):
            await asyncio.sleep(0)
        later()
        await asyncio.wait_for(watching, SECONDS)
        return found

    return asyncio.run(scenario())


def test_an_eventlog_is_followed_to_its_end(bench: Any) -> None:
    job = bench.submit()
    events = _follow(bench, job, "eventlog", lambda: bench.finish(job))
    assert [event["name"] for event in events] == bench.names(job)
    assert events[-1]["name"] == "clean"


def test_output_is_followed_and_kept(bench: Any) -> None:
    job = bench.submit()
    bench.engine.events.output(job, 0, "stdout", b"early\n")

    def later() -> None:
        bench.engine.events.output(job, 1, "stderr", b"\xff\n")
        bench.engine.events.eof(job, 0, "stdout")
        bench.finish(job)

    followed = _follow(bench, job, "guest.output", later)
    assert [(e["name"], e["context"]) for e in followed[1:]] == [
        ("data", {"stream": "stdout", "rank": "0", "data": "early\n"}),
        (
            "data",
            {
                "stream": "stderr",
                "rank": "1",
                "encoding": "base64",
                "data": base64.b64encode(b"\xff\n").decode(),
            },
        ),
        ("data", {"stream": "stdout", "rank": "0", "eof": True}),
    ]
    assert followed[0]["name"] == "header"
    assert _follow(bench, job, "guest.output") == followed


def test_output_can_be_followed_from_where_one_was(bench: Any) -> None:
    job = bench.submit()
    for number in range(40):
        bench.engine.events.output(job, 0, "stdout", f"{number}\n".encode())
    bench.finish(job)
    events = _follow(bench, job, "guest.output", since=38)
    assert [event["context"]["data"] for event in events] == ["38\n", "39\n"]


@pytest.mark.parametrize(
    ("more", "before"),
    [
        pytest.param({}, ["header", "one\n", "two\n"], id="all"),
        pytest.param({"after": 1}, ["two\n"], id="behind an entry"),
    ],
)
def test_the_end_of_what_is_there_is_marked(bench: Any, more: dict[str, int], before: list[str]) -> None:
    """Once, with Flux's flag: behind what was written before, and in front of what comes then."""
    job = bench.submit()
    for line in (b"one\n", b"two\n"):
        bench.engine.events.output(job, 0, "stdout", line)

    async def scenario() -> list[str]:
        found: list[str] = []
        watched = bench.call("job-info.eventlog-watch", id=job, path="guest.output", flags=2, **more)
        async for item in watched:
            if item["event"] is None:
                found.append("mark")
                bench.engine.events.output(job, 0, "stdout", b"three\n")
                bench.finish(job)
            else:
                found.append(json.loads(item["event"])["context"].get("data", "header"))
        return found

    assert asyncio.run(scenario()) == [*before, "mark", "three\n"]


def test_output_with_zeros_travels_as_base64(bench: Any) -> None:
    """As text each zero would take seven bytes of a frame."""
    job = bench.submit()
    bench.engine.events.output(job, 0, "stdout", b"a\0b\n")
    bench.finish(job)
    [context] = [e["context"] for e in _follow(bench, job, "guest.output") if e["name"] == "data"]
    assert (context["encoding"], base64.b64decode(context["data"])) == ("base64", b"a\0b\n")


def test_output_is_limited(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is over the limit of a stream is dropped, and said once."""
    monkeypatch.setattr(output_limit, "LIMIT", 10)
    job = bench.submit()
    for text in (b"0123456789", b"more", b"and more"):
        bench.engine.events.output(job, 0, "stdout", text)
    bench.finish(job)
    events = _follow(bench, job, "guest.output")
    assert [e["context"]["data"] for e in events if e["name"] == "data"] == ["0123456789"]
    credentials = [e["context"]["message"] for e in events if e["name"] == "log"]
    assert credentials == ["stdout will be truncated, 1G limit exceeded"]


def test_a_path_that_no_job_has(bench: Any) -> None:
    with pytest.raises(RpcError) as refusal:
        _follow(bench, bench.submit(), "guest.nonsense")
    assert refusal.value.errnum == errno.ENOENT


def test_a_watcher_that_leaves_is_forgotten(bench: Any) -> None:
    job = bench.submit()

    async def scenario() -> None:
        watching = asyncio.ensure_future(
            anext(bench.call("job-info.eventlog-watch", id=job, path="guest.output"))
        )
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert bench.engine._manager.watchers._waiting
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await asyncio.sleep(0)
        assert not bench.engine._manager.watchers._waiting

    asyncio.run(scenario())


@pytest.mark.parametrize("full", [True, False])
def test_the_journal_has_each_event_once(bench: Any, full: bool) -> None:
    """With `full` the history comes first; the sentinel divides it from what happens then."""
    old = bench.submit()
    bench.finish(old)

    async def scenario() -> tuple[list[Any], list[Any]]:
        history, live, past = [], [], False
        journal = bench.call("job-manager.events-journal", full=full)
        new = None
        async for item in journal:
            (live if past else history).extend((item["id"], e["name"], sorted(item)) for e in item["events"])
            if item["id"] == -1:
                past, new = True, bench.submit()
                bench.finish(new)
            if live and live[-1][1] == "clean":
                break
        await journal.aclose()
        return history, live

    history, live = asyncio.run(scenario())
    assert [name for _, name, _ in history] == (bench.names(old) if full else [])
    assert [name for _, name, _ in live if name != "annotations"] == bench.names(live[0][0])
    assert {"jobspec"} <= set(live[0][2])
    assert "R" in next(keys for _, name, keys in live if name == "alloc")


@pytest.mark.parametrize("full", [True, False])
def test_the_journal_begins_with_the_jobs_that_are_active(bench: Any, full: bool) -> None:
    """With `full` with all jobs; `allow` chooses among the events, before the sentinel and after it."""
    ended, active = bench.submit(), bench.submit()
    bench.finish(ended)

    async def scenario() -> list[Any]:
        credentials = []
        journal = bench.call("job-manager.events-journal", full=full, allow={"submit": 1, "clean": 1})
        async for item in journal:
            credentials += [(item["id"], event["name"]) for event in item["events"]]
            if item["id"] == -1:
                bench.finish(active)
            if credentials[-1] == (active, "clean"):
                break
        await journal.aclose()
        return credentials

    past = [(ended, "submit"), (ended, "clean")] if full else []
    assert asyncio.run(scenario()) == [*past, (active, "submit"), (active, "clean")]


def test_a_slow_reader_of_the_journal_gets_what_happened_to_a_job_in_a_row_as_one_item(bench: Any) -> None:
    async def scenario() -> tuple[list[int], list[Any]]:
        journal = bench.call("job-manager.events-journal", allow={"submit": 1, "alloc": 1, "clean": 1})
        assert await anext(journal) == {"id": -1, "events": []}
        first, second = bench.submit(), bench.submit()
        bench.finish(first)
        items = [await anext(journal) for _ in range(3)]
        await journal.aclose()
        return [first, second], items

    (first, second), items = asyncio.run(scenario())
    credentials = [(item["id"], [event["name"] for event in item["events"]], {*item}) for item in items]
    plain = {"id", "events"}
    assert credentials == [
        (first, ["submit", "alloc"], plain | {"jobspec", "R"}),
        (second, ["submit", "alloc"], plain | {"jobspec", "R"}),
        (first, ["clean"], plain),
    ]


def test_a_listener_that_falls_behind_is_cut_off(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minicluster.embedded.jobs.watchers.JOURNAL_LIMIT", 3)

    async def scenario() -> list[str]:
        journal = bench.call("job-manager.events-journal")
        assert (await anext(journal))["id"] == -1
        bench.submit()
        return [event["name"] async for item in journal for event in item["events"]]

    assert asyncio.run(scenario()) == ["submit", "validate", "depend"]
