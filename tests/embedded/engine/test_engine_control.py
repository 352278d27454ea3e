"""Steering jobs and queues: what is answered, and what is refused, with Flux's words."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import pytest

from minicluster.embedded.errors import ConfigurationError, RpcError
from minicluster.embedded.jobs.job_waits import status_text
from minicluster.embedded.jobs.queues import Queues


def _refusal(bench: Any, topic: str, **payload: Any) -> tuple[int, str]:
    with pytest.raises(RpcError) as refusal:
        bench.call(topic, **payload)
    return refusal.value.errnum, refusal.value.text


@pytest.mark.parametrize(
    ("topic", "payload", "refusal"),
    [
        ("job-manager.raise", {"id": 3, "severity": 0, "type": "cancel"}, (errno.ENOENT, "unknown job id")),
        (
            "job-manager.raise",
            {"id": 3, "severity": 9, "type": "x"},
            (errno.EPROTO, "invalid exception severity"),
        ),
        (
            "job-manager.raise",
            {"id": 3, "severity": 1, "type": "a b"},
            (errno.EPROTO, "invalid exception type"),
        ),
        ("job-manager.raise", {"id": 3, "severity": 1, "type": ""}, (errno.EPROTO, "invalid exception type")),
        ("job-manager.kill", {"id": 3, "signum": 9}, (errno.EINVAL, "unknown job id")),
        ("job-manager.kill", {"id": 3, "signum": 999}, (errno.EINVAL, "Invalid signal number")),
        ("job-manager.urgency", {"id": 3, "urgency": 9}, (errno.EINVAL, "unknown job")),
        ("job-manager.urgency", {"id": 3, "urgency": 32}, (errno.EINVAL, "urgency value is out of range")),
        ("job-manager.queue-status", {"name": "foo"}, (errno.EINVAL, "'foo' is not a valid queue")),
        (
            "job-manager.queue-start",
            {"start": True, "name": "foo"},
            (errno.EINVAL, "'foo' is not a valid queue"),
        ),
        ("job-info.lookup", {"id": 3, "keys": ["R"]}, (errno.ENOENT, "invalid job id")),
    ],
)
def test_refusals(bench: Any, topic: str, payload: Any, refusal: tuple[int, str]) -> None:
    assert _refusal(bench, topic, **payload) == refusal


@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        ("job-manager.raise", {"severity": 0, "type": "cancel"}),
        ("job-manager.kill", {"signum": 15}),
        ("job-manager.urgency", {"urgency": 3}),
    ],
)
def test_an_inactive_job_cannot_be_steered(bench: Any, topic: str, payload: Any) -> None:
    job = bench.submit()
    bench.finish(job)
    assert _refusal(bench, topic, id=job, **payload)[1] == "job is inactive"


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"urgency": 40}, (errno.EINVAL, "urgency range is [0:31]")),
        ({"flags": 64}, (errno.EPROTO, "invalid job flags")),
        ({"queue": "foo"}, (errno.EINVAL, "'foo' is not a valid queue")),
        (
            {"dependencies": [{"scheme": "foo", "value": "1"}]},
            (errno.EINVAL, 'dependency scheme "foo" not supported'),
        ),
        (
            {"dependencies": [{"scheme": "afterok", "value": "123"}]},
            (errno.EINVAL, "dependency: afterok: id 123: job not found"),
        ),
        (
            {"dependencies": [{"scheme": "afterok", "value": "x y"}]},
            (errno.EINVAL, 'dependency: afterok: "x y" is not a valid jobid'),
        ),
        (
            {"dependencies": [{"scheme": "begin-time", "value": "soon"}]},
            (errno.EINVAL, "Invalid begin-time=soon"),
        ),
        (
            {"dependencies": [{"scheme": "begin-time", "value": "-1"}]},
            (errno.EINVAL, "Invalid begin-time=-1"),
        ),
    ],
)
def test_submissions_refused(bench: Any, options: Any, refusal: tuple[int, str]) -> None:
    with pytest.raises(RpcError) as refused:
        bench.submit(**options)
    assert (refused.value.errnum, refused.value.text) == refusal
    assert bench.call("job-list.job-stats")["job_states"]["total"] == 0


@pytest.mark.parametrize(
    ("scheme", "status", "text"),
    [
        ("afterok", 256, "dependency: afterok: job {} failed or was canceled"),
        ("afternotok", 0, "dependency: afternotok: job {} succeeded"),
        ("afterok", None, "dependency: after: {} never started"),
    ],
)
def test_a_dependency_on_a_job_that_ended_otherwise(bench: Any, scheme: str, status: Any, text: str) -> None:
    target = bench.submit(urgency=16 if status is not None else 0)
    if status is None:
        bench.call("job-manager.raise", id=target, severity=0, type="cancel")
    else:
        bench.finish(target, status)
    with pytest.raises(RpcError) as refused:
        bench.submit(dependencies=[{"scheme": scheme, "value": str(target)}])
    assert refused.value.text == text.format(target)


def test_a_job_waits_for_its_begin_time(bench: Any) -> None:
    job = bench.submit(dependencies=[{"scheme": "begin-time", "value": str(bench.loop.now + 60)}])
    assert bench.shown(job)["dependencies"] == [f"begin-time={bench.loop.now + 60:.3f}"]
    bench.loop.advance(59)
    assert not bench.running()
    bench.loop.advance(1)
    assert bench.running() == [job]


def test_a_job_that_is_canceled_before_its_begin_time_never_starts(bench: Any) -> None:
    job = bench.submit(dependencies=[{"scheme": "begin-time", "value": str(bench.loop.now + 60)}])
    bench.call("job-manager.raise", id=job, severity=0, type="cancel")
    bench.loop.advance(61)
    assert (bench.names(job)[-1], bench.running()) == ("clean", [])


@pytest.mark.parametrize(
    ("given", "chosen"),
    [("[:2]", [2, 1]), ("[1:]", [1, 0]), ("[::-1]", [0, 1, 2]), ("[-1:]", [0]), ("[7:]", [])],
)
def test_the_history_of_jobs(bench: Any, given: str, chosen: list[int]) -> None:
    """The latest first, whether they run, wait or have ended."""
    bench.finish((jobs := [bench.submit(), bench.submit(urgency=0), bench.submit()])[2])
    assert bench.call("job-manager.history.get", slice=given)["jobs"] == [jobs[number] for number in chosen]


@pytest.mark.parametrize("given", ["2", "[0]", "[x:]", "[::0]", "[1:2:3:4]"])
def test_a_wrong_slice_of_the_history(bench: Any, given: str) -> None:
    message = "could not parse python-style slice expression"
    assert _refusal(bench, "job-manager.history.get", slice=given) == (errno.EINVAL, message)


def test_urgency_of_a_running_job(bench: Any) -> None:
    refusal = _refusal(bench, "job-manager.urgency", id=bench.submit(), urgency=3)
    assert refusal == (errno.EINVAL, "urgency cannot be changed once resources are allocated")


def test_kill_reaches_running_jobs_only(bench: Any) -> None:
    job, pending = bench.submit(), bench.submit(urgency=0)
    bench.call("job-manager.kill", id=job, signum=10)
    assert bench.executor.signals == [(job, 10)]
    assert _refusal(bench, "job-manager.kill", id=pending, signum=10)[1] == "job is not running"


def test_raiseall(bench: Any) -> None:
    jobs = [bench.submit(cores=2) for _ in range(4)]  # two run, two wait
    asked = {"severity": 0, "type": "cancel", "userid": -1}
    answer = bench.call("job-manager.raiseall", states=14, dry_run=True, **asked)
    assert (answer, bench.names(jobs[3])[-1]) == ({"count": 2, "errors": 0}, "priority")
    assert bench.call("job-manager.raiseall", states=62, **asked) == {"count": 4, "errors": 0}
    assert bench.executor.kills == [(jobs[0], 15), (jobs[1], 15)]


def test_the_queue_is_ordered_by_urgency_then_age(bench: Any) -> None:
    full = [bench.submit(cores=2), bench.submit(cores=2)]
    late, urgent = bench.submit(cores=2), bench.submit(cores=2, urgency=20)
    for job in full:
        bench.finish(job)
    assert bench.running()[2:] == [urgent, late]


def test_a_stopped_queue_starts_nothing(bench: Any) -> None:
    bench.call("job-manager.queue-start", start=False, reason="maintenance")
    job = bench.submit()
    assert bench.call("job-manager.queue-status") == {
        "enable": True,
        "start": False,
        "stop_reason": "maintenance",
    }
    assert bench.running() == []
    bench.call("job-manager.queue-start", start=True)
    assert (bench.running(), bench.call("job-manager.queue-status")) == (
        [job],
        {"enable": True, "start": True},
    )


def test_a_queue_stopped_while_jobs_wait(bench: Any) -> None:
    full = [bench.submit(cores=2), bench.submit(cores=2)]
    bench.submit()
    bench.call("job-manager.queue-start", start=False)
    for job in full:
        bench.finish(job)
    assert bench.running() == full


@pytest.fixture
def queued(kit: Any, tmp_path: Any) -> Any:
    """Two named queues."""
    config = {
        "queues": {"debug": {}, "batch": {}},
        "policy": {"jobspec": {"defaults": {"system": {"queue": "debug", "duration": "1m"}}}},
    }
    made = kit.Bench(tmp_path, config=config)
    made.call("job-manager.queue-start", start=True, all=True)
    yield made
    made.engine.close()


def test_named_queues(queued: Any) -> None:
    assert queued.call("job-manager.queue-list") == {"queues": ["debug", "batch"]}
    default, batch = queued.submit(), queued.submit(queue="batch")
    shown = queued.shown(default)
    assert (shown["queue"], shown["duration"]) == ("debug", 60.0)
    assert queued.shown(batch)["queue"] == "batch"
    stats = queued.call("job-list.job-stats")["queues"]
    assert [(q["name"], q["job_states"]["run"]) for q in stats] == [("debug", 1), ("batch", 1)]


def test_named_queues_begin_stopped() -> None:
    queues = Queues({"queues": {"debug": {}}})
    assert queues["debug"].status() == {"enable": True, "start": False}


def test_a_queue_that_is_not_among_the_named_ones(queued: Any) -> None:
    with pytest.raises(RpcError, match="Invalid queue 'nope' specified"):
        queued.submit(queue="nope")


def test_named_queues_are_meant_by_name_or_all(queued: Any) -> None:
    refusal = _refusal(queued, "job-manager.queue-start", start=False)
    assert refusal == (errno.EINVAL, "Use --all to apply this command to all queues")
    assert _refusal(queued, "job-manager.queue-status")[1] == "a named queue is required"
    queued.call("job-manager.queue-start", start=False, all=True)
    assert [queued.call("job-manager.queue-status", name=n)["start"] for n in ("debug", "batch")] == [
        False
    ] * 2


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"policy": {"jobspec": {"defaults": {"system": {"duration": "5 parsecs"}}}}},
            "duration: '5 parsecs' is no duration; right would be 5s, 1.5m, 2h, 1d or none",
        ),
    ],
)
def test_wrong_queue_configuration(config: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Queues(config)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, ""),
        (2 << 8, "task(s) exited with exit code 2"),
        (143 << 8, "task(s) Terminated"),
        (9, "task(s) Killed"),
        (255 << 8, "task(s) exited with exit code 255"),
    ],
)
def test_status_in_words(status: int, text: str) -> None:
    assert status_text(status) == text


# Waiting: these need a loop that futures can wait on.


def _scenario(kit: Any, tmp_path: Any, scenario: Any) -> None:
    async def run() -> None:
        bench = kit.Bench(tmp_path)
        await scenario(bench)
        bench.engine.close()

    asyncio.run(run())


async def _asked(bench: Any, topic: str, **payload: Any) -> asyncio.Task[Any]:
    task = asyncio.ensure_future(bench.call(topic, **payload))
    await asyncio.sleep(0)
    return task


def test_wait_for_a_job(kit: Any, tmp_path: Any) -> None:
    async def scenario(bench: Any) -> None:
        job = bench.submit(flags=4)
        waiting = await _asked(bench, "job-manager.wait", id=job)
        bench.finish(job, 2 << 8)
        expected = {"id": job, "success": False, "errstr": "task(s) exited with exit code 2"}
        assert await waiting == expected

    _scenario(kit, tmp_path, scenario)


def test_wait_after_the_end_and_only_once(kit: Any, tmp_path: Any) -> None:
    async def scenario(bench: Any) -> None:
        job = bench.submit(flags=4)
        bench.call("job-manager.raise", id=job, severity=0, type="cancel", note="no")
        bench.finish(job, 15)
        expected = {"id": job, "success": False, "errstr": "Fatal exception type=cancel no"}
        assert await bench.call("job-manager.wait", id=job) == expected
        with pytest.raises(RpcError, match="invalid job id, or job may be inactive and not waitable"):
            await bench.call("job-manager.wait", id=job)

    _scenario(kit, tmp_path, scenario)


def test_wait_for_any(kit: Any, tmp_path: Any) -> None:
    async def scenario(bench: Any) -> None:
        first, second = bench.submit(flags=4), bench.submit(flags=4)
        waiting = await _asked(bench, "job-manager.wait", id=-1)
        bench.finish(second)
        assert (await waiting)["id"] == second
        bench.finish(first)
        assert (await bench.call("job-manager.wait", id=-1))["id"] == first
        with pytest.raises(RpcError, match="there are no more waitable jobs"):
            await bench.call("job-manager.wait", id=-1)

    _scenario(kit, tmp_path, scenario)


def test_wait_refusals(kit: Any, tmp_path: Any) -> None:
    async def scenario(bench: Any) -> None:
        plain, waitable = bench.submit(), bench.submit(flags=4)
        with pytest.raises(RpcError, match="job was not submitted with FLUX_JOB_WAITABLE"):
            await bench.call("job-manager.wait", id=plain)
        waiting = await _asked(bench, "job-manager.wait", id=waitable)
        with pytest.raises(RpcError, match="job id already has a waiter"):
            await bench.call("job-manager.wait", id=waitable)
        waiting.cancel()
        await asyncio.sleep(0)
        again = await _asked(bench, "job-manager.wait", id=waitable)  # the place is free again
        bench.finish(waitable)
        assert (await again)["success"]

    _scenario(kit, tmp_path, scenario)


def test_drain_and_idle(kit: Any, tmp_path: Any) -> None:
    async def scenario(bench: Any) -> None:
        job, pending = bench.submit(), bench.submit(urgency=0)
        idle = await _asked(bench, "job-manager.idle")
        drained = await _asked(bench, "job-manager.drain")
        gone = await _asked(bench, "job-manager.drain")
        gone.cancel()
        bench.finish(job)
        assert (await idle, drained.done()) == ({"pending": 1}, False)
        bench.call("job-manager.raise", id=pending, severity=0, type="cancel")
        assert await drained == await bench.call("job-manager.drain") == {}

    _scenario(kit, tmp_path, scenario)


def test_idle_once_the_queue_is_stopped(kit: Any, tmp_path: Any) -> None:
    async def scenario(bench: Any) -> None:
        running = [bench.submit(cores=2), bench.submit(cores=2)]
        bench.submit()
        idle = await _asked(bench, "job-manager.idle")
        bench.call("job-manager.queue-start", start=False)
        for job in running:
            bench.finish(job)
        assert await idle == {"pending": 1}

    _scenario(kit, tmp_path, scenario)


def test_the_end_of_the_instance_cancels_what_runs_and_keeps_what_waits(kit: Any, tmp_path: Any) -> None:
    async def scenario(bench: Any) -> None:
        job, pending = bench.submit(), bench.submit(urgency=0)
        bench.started(job)
        ended = asyncio.ensure_future(bench.engine.drain_all(5))
        await asyncio.sleep(0)
        assert bench.executor.kills == [(job, 15)]
        bench.finish(job, 15)
        assert await ended
        assert bench.log(job)[6][1]["note"] == "instance is shutting down"
        assert bench.names(pending)[-1] == "priority"

    _scenario(kit, tmp_path, scenario)


def test_a_job_that_does_not_end_does_not_hold_the_end_up(kit: Any, tmp_path: Any) -> None:
    async def scenario(bench: Any) -> None:
        bench.submit()
        assert not await bench.engine.drain_all(0.01)

    _scenario(kit, tmp_path, scenario)
