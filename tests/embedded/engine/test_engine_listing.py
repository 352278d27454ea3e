"""Listing jobs, their stored data, and following what is written."""

from __future__ import annotations

import asyncio
import base64
import errno
import json
from typing import Any

import pytest

from minicluster.embedded.errors import RpcError
from minicluster.embedded.jobs import output_limit
from minicluster.embedded.jobs.job_list import ATTRIBUTES, compile_constraint


def _list(bench: Any, **payload: Any) -> list[dict[str, Any]]:
    request = {"attrs": ["all"], "max_entries": 0, **payload}

    async def jobs() -> list[dict[str, Any]]:
        return [job async for answer in bench.call("job-list.list", **request) for job in answer["jobs"]]

    return asyncio.run(jobs())


@pytest.fixture
def four(bench: Any) -> tuple[Any, dict[str, int]]:
    """One job of each kind."""
    done = bench.submit()
    bench.loop.advance(1)
    bench.finish(done)
    failed = bench.submit("sh", job={"name": "bad"})
    bench.loop.advance(1)
    bench.finish(failed, 256)
    running = bench.submit("sleep", slots=4)
    waiting = bench.submit(nodes=1, duration=60)
    return bench, {"done": done, "failed": failed, "running": running, "waiting": waiting}


def test_order(four: Any) -> None:
    """Waiting ones first, then running ones, then the latest that ended."""
    bench, ids = four
    assert [job["id"] for job in _list(bench)] == [ids[k] for k in ("waiting", "running", "failed", "done")]


def test_a_job_that_ended_shows_all_of_it(four: Any) -> None:
    bench, ids = four
    shown = bench.shown(ids["done"])
    times = {key: shown.pop(key) for key in list(shown) if key.startswith("t_")}
    assert list(times) == [
        "t_submit",
        "t_depend",
        "t_priority",
        "t_sched",
        "t_run",
        "t_cleanup",
        "t_inactive",
    ]
    assert shown == {
        "id": ids["done"],
        "userid": 1000,
        "urgency": 16,
        "priority": 16,
        "state": 64,
        "name": "true",
        "cwd": "/tmp",
        "ntasks": 1,
        "duration": 0.0,
        "ncores": 1,
        "nnodes": 1,
        "ranks": "0",
        "nodelist": "mc-0",
        "expiration": 0.0,
        "success": True,
        "result": 1,
        "exception_occurred": False,
        "waitstatus": 0,
        "annotations": {"sched": {"resource_summary": "rank0/core0"}},
    }


def test_a_waiting_job_shows_what_it_asks_for(four: Any) -> None:
    bench, ids = four
    shown = bench.shown(ids["waiting"])
    assert {key: shown.get(key) for key in ("state", "nnodes", "ncores", "ranks", "duration", "result")} == {
        "state": 8,
        "nnodes": 1,
        "ncores": 1,
        "ranks": None,
        "duration": 60.0,
        "result": None,
    }


def test_ranks_of_several_nodes_are_bracketed(four: Any) -> None:
    bench, ids = four
    assert (bench.shown(ids["running"])["ranks"], bench.shown(ids["running"])["nodelist"]) == (
        "[0-1]",
        "mc-[0-1]",
    )


def test_an_exclusive_request_has_no_cores_before_it_runs(bench: Any) -> None:
    bench.submit(slots=4)
    assert "ncores" not in bench.shown(bench.submit(nodes=2, exclusive=True))


def test_an_exception_of_a_running_job_is_shown(bench: Any) -> None:
    job = bench.submit()
    bench.engine.events.exception(job, "oom", 3, "tight")
    shown = bench.shown(job)
    assert (shown["exception_type"], shown["exception_severity"], shown["exception_note"]) == (
        "oom",
        3,
        "tight",
    )


@pytest.mark.parametrize(
    ("constraint", "found"),
    [
        ({}, ["waiting", "running", "failed", "done"]),
        ({"states": [14]}, ["waiting"]),
        ({"states": [48, 64]}, ["running", "failed", "done"]),
        ({"results": [2]}, ["failed"]),
        ({"name": ["bad", "sleep"]}, ["running", "failed"]),
        ({"userid": [1]}, []),
        ({"userid": [1000]}, ["waiting", "running", "failed", "done"]),
        ({"queue": ["x"]}, []),
        ({"and": [{"states": [64]}, {"results": [1]}]}, ["done"]),
        ({"or": [{"name": ["bad"]}, {"states": [8]}]}, ["waiting", "failed"]),
        ({"or": []}, ["waiting", "running", "failed", "done"]),
    ],
)
def test_constraints(four: Any, constraint: Any, found: list[str]) -> None:
    bench, ids = four
    assert [job["id"] for job in _list(bench, constraint=constraint)] == [ids[name] for name in found]


@pytest.mark.parametrize(
    "constraint",
    [3, {"a": [], "b": []}, {"name": 3}, {"foo": [1]}, {"states": ["foo"]}, {"and": [{"foo": []}]}],
    ids=str,
)
def test_wrong_constraints(constraint: Any) -> None:
    with pytest.raises(RpcError, match="invalid payload: constraint object invalid: ") as refusal:
        compile_constraint(constraint)
    assert refusal.value.errnum == errno.EPROTO


@pytest.mark.parametrize(
    ("payload", "refusal"),
    [
        ({"attrs": ["foo"]}, (errno.EINVAL, "foo is not a valid attribute")),
    ],
)
def test_wrong_lists(bench: Any, payload: Any, refusal: tuple[int, str]) -> None:
    with pytest.raises(RpcError) as refused:
        _list(bench, **payload)
    assert (refused.value.errnum, refused.value.text) == refusal


def test_only_the_attributes_that_were_asked_for(four: Any) -> None:
    bench, ids = four
    assert _list(bench, attrs=["name", "result"], max_entries=1) == [{"id": ids["waiting"], "name": "true"}]


def test_since(four: Any) -> None:
    bench, ids = four
    jobs = _list(bench, since=1700000001.5)
    assert [job["id"] for job in jobs] == [ids["waiting"], ids["running"], ids["failed"]]


def test_every_attribute_that_is_shown_can_be_asked_for(four: Any) -> None:
    bench, ids = four
    assert {key for job in ids.values() for key in bench.shown(job)} - {"id"} <= set(ATTRIBUTES)


def test_long_lists_let_others_be_served(bench: Any) -> None:
    for _ in range(1200):
        bench.submit(urgency=0)

    async def scenario() -> int:
        answers = [answer async for answer in bench.call("job-list.list", attrs=["name"], max_entries=0)]
        assert sum(len(answer["jobs"]) for answer in answers) == 1200
        return len(answers)

    assert asyncio.run(scenario()) == 3


def test_stats(four: Any) -> None:
    bench, _ = four
    stats = bench.call("job-list.job-stats")
    assert stats == {
        "job_states": {
            "depend": 0,
            "priority": 0,
            "sched": 1,
            "run": 1,
            "cleanup": 0,
            "inactive": 2,
            "total": 4,
        },
        "successful": 1,
        "failed": 1,
        "canceled": 0,
        "timeout": 0,
        "inactive_purged": 0,
        "queues": [],
    }


def test_one_job_by_id(four: Any) -> None:
    bench, ids = four
    answer = asyncio.run(bench.call("job-list.list-id", id=ids["failed"], attrs=["result"]))
    assert answer == {"job": {"id": ids["failed"], "result": 2}}
    with pytest.raises(RpcError) as refusal:
        asyncio.run(bench.call("job-list.list-id", id=999, attrs=["all"]))
    assert refusal.value.errnum == errno.ENOENT


def test_one_job_once_it_reaches_a_state(bench: Any) -> None:
    job = bench.submit()

    async def scenario() -> Any:
        waiting = asyncio.ensure_future(bench.call("job-list.list-id", id=job, attrs=["result"], state=64))
        await asyncio.sleep(0)
        assert not waiting.done()
        bench.finish(job)
        return await waiting

    assert asyncio.run(scenario())["job"]["result"] == 1


def test_lookup(four: Any) -> None:
    bench, ids = four
    keys = ["jobspec", "R"]
    answer = bench.call("job-info.lookup", id=ids["running"], keys=keys, flags=1)
    assert (answer["R"]["execution"]["nslots"], answer["jobspec"]["version"]) == (4, 1)
    text = bench.call("job-info.lookup", id=ids["running"], keys=keys)
    assert {key: json.loads(text[key]) for key in keys} == {key: answer[key] for key in keys}
    for missing in ("R", "nonsense"):
        with pytest.raises(RpcError) as refusal:
            bench.call("job-info.lookup", id=ids["waiting"], keys=[missing])
        assert refusal.value.errnum == errno.ENOENT


def test_the_jobspec_as_submitted_has_its_environment(bench: Any) -> None:
    job = bench.submit(environment={"A": "b"})
    whole = bench.call("job-info.lookup", id=job, keys=["J"])["J"].split(".")
    assert json.loads(base64.b64decode(whole[1]))["attributes"]["system"]["environment"] == {"A": "b"}
    shown = bench.call("job-info.lookup", id=job, keys=["jobspec"], flags=1)["jobspec"]
    assert "environment" not in shown["attributes"]["system"]


# Output and following.


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
        await asyncio.wait_for(watching, 5)
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
    told = [e["context"]["message"] for e in events if e["name"] == "log"]
    assert told == ["stdout will be truncated, 1G limit exceeded"]


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
        told = []
        journal = bench.call("job-manager.events-journal", full=full, allow={"submit": 1, "clean": 1})
        async for item in journal:
            told += [(item["id"], event["name"]) for event in item["events"]]
            if item["id"] == -1:
                bench.finish(active)
            if told[-1] == (active, "clean"):
                break
        await journal.aclose()
        return told

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
    told = [(item["id"], [event["name"] for event in item["events"]], {*item}) for item in items]
    plain = {"id", "events"}
    assert told == [
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
