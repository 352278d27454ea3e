"""Jobs whose queue or time limit is changed, and queues that require properties."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.errors import ConfigurationError, RpcError
from tests.embedded.engine.journal_reader import JournalReader, listed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SYSTEM = "attributes.system"
CONFIG = {
    "policy": {"jobspec": {"defaults": {"system": {"queue": "here"}}}},
    "queues": {"here": {"requires": ["here"]}, "away": {"requires": ["away"]}, "any": {}},
}


@pytest.fixture
def apart(kit: Any, tmp_path: Path) -> Iterator[Any]:
    """Rank 0 and 1 are here, 2 and 3 are away; `here` alone is started."""
    resources = kit.resources(4, 2, properties={"here": "0-1", "away": "2-3"})
    made = kit.Bench(tmp_path, R=resources, config=CONFIG)
    made.call("job-manager.queue-start", start=True, name="here")
    yield made
    made.engine.close()


def update(bench: Any, job: int, **values: Any) -> None:
    updates = {f"{SYSTEM}.{name}": value for name, value in values.items()}
    assert bench.call("job-manager.update", id=job, updates=updates) == {}


def refused(bench: Any, job: int, updates: Any) -> tuple[int, str]:
    with pytest.raises(RpcError) as refusal:
        bench.call("job-manager.update", id=job, updates=updates)
    return refusal.value.errnum, refusal.value.text


def spec_of(bench: Any, job: int) -> Any:
    found = bench.call("job-info.lookup", id=job, keys=["jobspec"], flags=1)
    return found["jobspec"]["attributes"]["system"]


def ranks(bench: Any, job: int) -> str:
    return str(bench.shown(job)["ranks"])


def test_jobs_run_on_the_nodes_of_their_queue(apart: Any) -> None:
    away = apart.submit(nodes=1, exclusive=True, queue="away")
    first, second, third = (apart.submit(nodes=1, exclusive=True) for _ in range(3))
    assert apart.running() == [first, second]
    assert [ranks(apart, job) for job in (first, second)] == ["0", "1"]
    apart.call("job-manager.queue-start", start=True, name="away")
    assert (ranks(apart, away), apart.shown(third)["state"]) == ("2", 8)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (None, {"properties": ["here"]}),
        ({"properties": ["a"]}, {"properties": ["a", "here"]}),
        ({"properties": ["here"]}, {"properties": ["here"]}),
        ({"ranks": ["0"]}, {"and": [{"ranks": ["0"]}, {"properties": ["here"]}]}),
        ({}, {"and": [{}, {"properties": ["here"]}]}),
    ],
)
def test_a_queue_adds_to_constraints(apart: Any, own: Any, expected: Any) -> None:
    given = {} if own is None else {"constraints": own}
    assert spec_of(apart, apart.submit(urgency=0, **given))["constraints"] == expected


@pytest.mark.parametrize("own", ["here", ["here"], {"properties": "here"}, {"properties": [3]}])
def test_constraints_that_cannot_be_read_are_refused(apart: Any, own: Any) -> None:
    with pytest.raises(RpcError, match="constraint"):
        apart.submit(constraints=own)


def test_a_queue_without_requirements_adds_nothing(apart: Any) -> None:
    assert "constraints" not in spec_of(apart, apart.submit(queue="any"))


@pytest.mark.parametrize(
    ("queues", "problem"),
    [
        ({"q": {"requires": "gpu"}}, "[queues.q]: a table is right, with properties such as requires ="),
        ({"q": 3}, "[queues.q]: a table is right"),
        ({"q": {"requires": [3]}}, "[queues.q] requires: argument to constraint properties must be"),
        ({"q": {"requires": ["a|b"]}}, "[queues.q] requires: invalid character in property 'a|b'"),
    ],
)
def test_a_wrong_table_of_a_queue_is_named(kit: Any, tmp_path: Path, queues: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        kit.Bench(tmp_path, config={"queues": queues})
    assert str(error.value).startswith(f"broker.toml, {problem}")


def test_a_moved_job_keeps_its_id_and_runs_elsewhere(apart: Any) -> None:
    busy = [apart.submit(nodes=1, exclusive=True) for _ in range(2)]
    job = apart.submit(nodes=1, exclusive=True)
    update(apart, job, queue="away")
    assert apart.log(job)[-2] == (
        "jobspec-update",
        {f"{SYSTEM}.queue": "away", f"{SYSTEM}.constraints": {"properties": ["away"]}},
    )
    assert apart.shown(job)["queue"] == "away"
    assert apart.running() == busy
    apart.call("job-manager.queue-start", start=True, name="away")
    assert ranks(apart, job) == "2"


def test_a_job_that_is_moved_back_runs_here_at_once(apart: Any) -> None:
    job = apart.submit(nodes=1, exclusive=True, queue="away")
    update(apart, job, queue="here")
    assert ranks(apart, job) == "0"


def test_counts_follow_a_moved_job(apart: Any) -> None:
    job = apart.submit(urgency=0)
    update(apart, job, queue="away")
    queues = {each["name"]: each for each in apart.call("job-list.job-stats")["queues"]}
    assert [queues[name]["job_states"]["sched"] for name in ("here", "away", "any")] == [0, 1, 0]


def test_a_moved_job_is_in_its_new_queue_after_a_restart(apart: Any) -> None:
    job = apart.submit(urgency=0, duration=60)
    update(apart, job, queue="away", duration=90)
    apart.engine.close()
    apart.restart()
    assert (apart.shown(job)["queue"], apart.shown(job)["duration"]) == ("away", 90)
    assert JournalReader(apart).read_history() == listed(apart)


def test_a_job_that_waits_for_another_is_moved(apart: Any) -> None:
    first = apart.submit(urgency=0)
    job = apart.submit(dependencies=[{"scheme": "afterany", "value": str(first)}])
    update(apart, job, queue="away")
    apart.call("job-manager.queue-start", start=True, name="away")
    apart.call("job-manager.raise", id=first, severity=0, type="cancel")
    assert ranks(apart, job) == "2"


@pytest.mark.parametrize(
    ("updates", "reason"),
    [
        ({"queue": "here"}, "one or more jobspec updates are invalid"),
        ({f"{SYSTEM}.queue": "here"}, "job queue is already set to here"),
        ({f"{SYSTEM}.queue": "nope"}, "'nope' is not a valid queue"),
        ({f"{SYSTEM}.queue": 3}, "plugin args unpack failed"),
        ({f"{SYSTEM}.duration": "3"}, "plugin args unpack failed"),
        ({f"{SYSTEM}.duration": True}, "plugin args unpack failed"),
        ({f"{SYSTEM}.duration": -1}, "duration must not be negative"),
        ({f"{SYSTEM}.job.name": "x"}, "update of attributes.system.job.name not supported"),
        ({f"{SYSTEM}.duration": 9, f"{SYSTEM}.cwd": "/"}, "update of attributes.system.cwd not supported"),
        ({"tasks": []}, "update of tasks not supported"),
    ],
)
def test_what_cannot_be_changed_is_refused_as_a_whole(apart: Any, updates: Any, reason: str) -> None:
    job = apart.submit(urgency=0, duration=5)
    before = spec_of(apart, job)
    assert refused(apart, job, updates) == (errno.EINVAL, reason)
    assert spec_of(apart, job) == before
    assert "jobspec-update" not in apart.names(job)


def test_a_job_with_constraints_of_its_own_stays(apart: Any) -> None:
    job = apart.submit(urgency=0, constraints={"ranks": ["0"]})
    reason = "job appears to have non-queue constraints, unable to update queue to here"
    assert refused(apart, job, {f"{SYSTEM}.queue": "away"}) == (errno.EINVAL, reason)


def test_a_queue_in_which_a_job_can_never_run_is_refused(apart: Any) -> None:
    job = apart.submit(nodes=3, exclusive=True, queue="any")
    reason = "unsatisfiable request: need 3 exclusive node(s), only 2 eligible"
    assert refused(apart, job, {f"{SYSTEM}.queue": "away"}) == (errno.EINVAL, reason)
    assert apart.shown(job)["queue"] == "any"


def test_a_running_job_is_not_moved(apart: Any) -> None:
    """So no job is both here and there: that it was refused is the truth."""
    job = apart.submit()
    reason = "update of queue for running job not supported"
    assert refused(apart, job, {f"{SYSTEM}.queue": "away"}) == (errno.EINVAL, reason)


def test_a_job_that_is_not_there_is_not_changed(apart: Any) -> None:
    job = apart.submit()
    apart.finish(job)
    assert refused(apart, job, {f"{SYSTEM}.duration": 3}) == (errno.EINVAL, "job is inactive")
    assert refused(apart, 3, {f"{SYSTEM}.duration": 3}) == (errno.ENOENT, "unknown job id")


def test_a_running_job_ends_by_its_new_limit(bench: Any) -> None:
    job = bench.submit(duration=10)
    bench.started(job)
    bench.loop.advance(5)
    update(bench, job, duration=20)
    assert [name for name, _ in bench.log(job)][-2:] == ["jobspec-update", "resource-update"]
    bench.loop.advance(14)
    assert bench.shown(job).get("exception_type") is None
    bench.loop.advance(2)
    assert bench.shown(job)["exception_type"] == "timeout"


def test_a_running_job_that_loses_its_limit_runs_on(bench: Any) -> None:
    job = bench.submit(duration=10)
    bench.started(job)
    update(bench, job, duration=0)
    bench.loop.advance(1000)
    assert (bench.shown(job)["state"], bench.shown(job)["expiration"]) == (16, 0)


def test_a_limit_that_is_over_already_is_refused(bench: Any) -> None:
    job = bench.submit(duration=10)
    bench.loop.advance(5)
    reason = "requested duration places job expiration in the past"
    assert refused(bench, job, {f"{SYSTEM}.duration": 4}) == (errno.EINVAL, reason)
    assert bench.shown(job)["duration"] == 10


def test_a_policy_learns_of_a_longer_limit(kit: Any, tmp_path: Path) -> None:
    """EASY starts a short job beside a waiting large one; not once it would delay that."""
    bench = kit.Bench(tmp_path, nodes=2, cores=1, config={"minicluster": {"queue-policy": "easy"}})
    running = bench.submit(duration=10)
    large = bench.submit(slots=2, duration=10)
    later = bench.submit(duration=8, urgency=0)
    update(bench, running, duration=7)
    bench.call("job-manager.urgency", id=later, urgency=16)
    assert bench.running() == [running]
    update(bench, running, duration=9)
    assert bench.running() == [running, later]
    assert large not in bench.running()
    bench.engine.close()


def test_the_journal_has_what_listings_have(apart: Any) -> None:
    reader = JournalReader(apart)
    job, running = apart.submit(urgency=0), apart.submit(duration=30)
    apart.started(running)
    update(apart, job, queue="away", duration=60)
    update(apart, running, duration=90)
    assert reader.read() == listed(apart)


def test_the_tables_about_queues_are_answered(apart: Any) -> None:
    assert apart.call("config.get") == CONFIG
