"""Listing jobs, and their stored data."""

from __future__ import annotations

import asyncio
import base64
import errno
import json
from typing import Any

import pytest

from minicluster.embedded.errors import RpcError
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
        ({"t_submit": [">=0"]}, ["waiting", "running", "failed", "done"]),
        ({"t_submit": ["<1e9"]}, []),
        ({"t_run": [">1.0"]}, ["running", "failed", "done"]),
        ({"t_inactive": ["<=1e10"]}, ["failed", "done"]),
    ],
)
def test_constraints(four: Any, constraint: Any, found: list[str]) -> None:
    bench, ids = four
    assert [job["id"] for job in _list(bench, constraint=constraint)] == [ids[name] for name in found]


@pytest.mark.parametrize(
    "constraint",
    [
        3,
        {"a": [], "b": []},
        {"name": 3},
        {"foo": [1]},
        {"states": ["foo"]},
        {"and": [{"foo": []}]},
        {"t_run": []},
        {"t_run": [1.0]},
        {"t_run": ["1.0"]},
        {"t_run": [">-1"]},
        {"t_run": [">1x"]},
    ],
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
