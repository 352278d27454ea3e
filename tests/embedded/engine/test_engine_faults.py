"""What goes wrong: the store is full, the lead dies, the policy errs."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from minicluster.embedded.broker import engine as engines
from minicluster.embedded.errors import RpcError, SchedulerError
from queue_policies.records import Action, Happened, Start, State, WakeAt
from tests.queue_policies.installed_plugin import install_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BIG = b"x" * 200_000
FULL = "database or disk is full"


def _fill(bench: Any, spare: int = 0) -> None:
    """The file system has no more room than for some pages."""
    db = bench.engine._manager.parts.store.database._connection
    db.execute(f"PRAGMA max_page_count={db.execute('PRAGMA page_count').fetchone()[0] + spare}")


def _block(bench: Any) -> None:
    """Something waits to be written that is too large for the room there is."""
    _fill(bench)
    bench.engine._manager.parts.store.values.set("large", "x" * 300_000)


def _make_room(bench: Any) -> None:
    bench.engine._manager.parts.store.database._connection.execute("PRAGMA max_page_count=1000000")


def test_a_job_whose_output_cannot_be_stored_fails_with_the_reason(bench: Any) -> None:
    loud, quiet = bench.submit("yes"), bench.submit("sleep")
    waiting = bench.submit(slots=4)
    _fill(bench, spare=3)
    bench.engine.events.output(loud, 0, "stdout", BIG)
    bench.loop.turn()
    name, context = bench.log(loud)[-1]
    assert (name, context["type"], context["severity"]) == ("exception", "exec", 0)
    assert context["note"].endswith(FULL)
    assert bench.executor.kills == [(loud, 15)]
    assert bench.names(quiet)[-1] == bench.names(waiting)[-1].replace("priority", "alloc") == "alloc"
    assert (
        f"job data cannot be stored in {bench.directory}: {FULL}; no job starts until it can" in bench.logged
    )


def test_the_queue_is_kept_until_there_is_room_again(bench: Any) -> None:
    loud, waiting = bench.submit("yes", slots=4), bench.submit()
    _block(bench)
    bench.engine.events.output(loud, 0, "stdout", BIG)
    bench.loop.turn()
    bench.finish(loud, 15)
    bench.loop.advance(5)
    assert bench.running() == [loud], "nothing starts that could not be written"
    status = bench.call("job-manager.queue-status")
    assert (status["start"], status["stop_reason"].endswith(FULL)) == (False, True)
    assert bench.names(loud)[-1] == "clean", "what happened can be read all the same"
    _make_room(bench)
    bench.loop.advance(2)
    assert bench.running() == [loud, waiting]
    assert bench.call("job-manager.queue-status") == {"enable": True, "start": True}
    bench.restart()
    assert bench.names(loud)[-1] == "clean", "and was written once there was room"


def test_a_submission_that_cannot_be_stored_is_refused(bench: Any) -> None:
    kept = bench.submit(urgency=0)
    _fill(bench)
    with pytest.raises(RpcError) as refusal:
        bench.submit(environment={"X": "y" * 100_000})
    assert (refusal.value.errnum, refusal.value.text.endswith(FULL)) == (errno.ENOSPC, True)
    assert list(bench.engine._manager.active) == [kept]
    assert bench.call("job-list.job-stats")["job_states"]["total"] == 1


def test_a_dump_needs_a_store_that_can_be_written(bench: Any) -> None:
    loud = bench.submit("yes")
    bench.finish(loud)
    _block(bench)
    with pytest.raises(RpcError) as refusal:
        bench.call("content.dump", path=str(bench.directory / "dump"))
    assert refusal.value.errnum == errno.ENOSPC
    _make_room(bench)


def test_closing_a_full_store_reports_it(kit: Any, tmp_path: Any) -> None:
    bench = kit.Bench(tmp_path)
    bench.submit()
    _block(bench)
    bench.engine.close()
    assert any(FULL in line for line in bench.logged)


# The lead dies and comes back.


def test_waiting_jobs_go_on_after_a_restart(bench: Any) -> None:
    full = bench.submit(slots=4)
    pending = bench.submit(urgency=0, job={"name": "held"})
    waiting = bench.submit(slots=4, urgency=20)
    depending = bench.submit(dependencies=[{"scheme": "afterany", "value": str(waiting)}])
    satisfied = bench.submit(dependencies=[{"scheme": "afterany", "value": str(full)}])
    bench.restart()
    assert (bench.names(full)[-1], bench.running()) == ("clean", [waiting])
    assert (bench.shown(pending)["urgency"], bench.shown(pending)["name"], bench.shown(pending)["state"]) == (
        0,
        "held",
        8,
    )
    bench.finish(waiting)
    assert bench.running() == [waiting, depending, satisfied]
    later = bench.submit()
    assert later > satisfied


def test_a_begin_time_holds_after_a_restart(bench: Any) -> None:
    begin = bench.loop.now + 60
    job = bench.submit(dependencies=[{"scheme": "begin-time", "value": str(begin)}])
    bench.loop.advance(30)
    bench.restart()
    bench.loop.advance(29)
    assert bench.running() == []
    bench.loop.advance(1)
    assert bench.running() == [job]


def test_user_attributes_survive(kit: Any, bench: Any) -> None:
    spec = kit.jobspec()
    spec["attributes"]["user"] = {"elastic": {"min": 1, "max": 4}}
    job = bench.call("job-ingest.submit", jobspec=spec, urgency=0)["id"]
    bench.restart()
    kept = bench.call("job-info.lookup", id=job, keys=["jobspec"], flags=1)["jobspec"]
    assert kept["attributes"]["user"] == {"elastic": {"min": 1, "max": 4}}


@pytest.mark.parametrize(
    ("before", "events"),
    [
        pytest.param(
            lambda b, j: None, ["alloc", "exception", "release", "free", "clean"], id="not yet started"
        ),
        pytest.param(
            lambda b, j: b.started(j),
            ["start", "exception", "finish", "release", "free", "clean"],
            id="running",
        ),
        pytest.param(
            lambda b, j: (b.started(j), b.engine.events.finished(j, 0), b.loop.turn()),
            ["start", "finish", "release", "free", "clean"],
            id="finished, not released",
        ),
        pytest.param(
            lambda b, j: (b.started(j), b.call("job-manager.raise", id=j, severity=0, type="cancel")),
            ["start", "exception", "finish", "release", "free", "clean"],
            id="being cancelled",
        ),
    ],
)
def test_running_jobs_are_failed_after_a_restart(
    bench: Any, before: Callable[..., Any], events: list[str]
) -> None:
    job = bench.submit(slots=4)
    before(bench, job)
    bench.restart()
    assert bench.names(job)[-len(events) :] == events
    assert bench.executor.kills == []
    assert bench.running() == []
    assert bench.call("resource.status")["allocated"] == ""


def test_the_reason_names_the_restart(bench: Any) -> None:
    job = bench.submit()
    bench.restart()
    shown = bench.shown(job)
    assert (shown["exception_type"], shown["exception_note"], shown["result"]) == (
        "exec",
        "lead broker restarted: the job's processes are gone",
        2,
    )


def test_counts_and_lists_survive(bench: Any) -> None:
    job = bench.submit()
    bench.finish(job)
    before = bench.call("job-list.job-stats")
    bench.restart()
    assert bench.call("job-list.job-stats") == before
    assert bench.shown(job)["success"]


def test_queue_state_survives(bench: Any) -> None:
    bench.call("job-manager.queue-start", start=False, reason="maintenance")
    bench.restart()
    status = bench.call("job-manager.queue-status")
    assert status == {"enable": True, "start": False, "stop_reason": "maintenance"}


def test_urgency_that_was_changed_survives(bench: Any) -> None:
    bench.submit(slots=4)
    job = bench.submit(urgency=0)
    bench.call("job-manager.urgency", id=job, urgency=20)
    bench.call("job-manager.raise", id=job, severity=3, type="note", note="x")
    bench.restart()
    assert (bench.shown(job)["urgency"], bench.shown(job)["exception_type"]) == (20, "note")


def test_a_stored_job_that_cannot_be_read_is_passed_over(bench: Any) -> None:
    job = bench.submit(urgency=0)
    store = bench.engine._manager.parts.store
    store.database._connection.execute("UPDATE jobs SET jobspec='{}'")
    bench.restart()
    reason = f"job {job} is passed over: its stored jobspec is invalid: Missing key (resources)"
    assert reason in bench.logged


def test_a_target_that_is_gone_from_the_store(bench: Any) -> None:
    target = bench.submit(urgency=0)
    job = bench.submit(dependencies=[{"scheme": "afterok", "value": str(target)}])
    bench.engine._manager.parts.store.database._connection.execute("DELETE FROM jobs WHERE id=?", (target,))
    bench.restart()
    assert bench.shown(job)["exception_note"] == f"dependency after-success={target} can never be satisfied"


# Policies that err.


@dataclass(frozen=True)
class Scripted:
    """Answers what the test says."""

    name: ClassVar[str] = "scripted"
    answer: ClassVar[Callable[[State, float], Sequence[Action]]]

    def decide(self, state: State, now: float) -> Sequence[Action]:
        return type(self).answer(state, now)


@pytest.fixture
def scripted(kit: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(engines, "policy_of", lambda *_: Scripted())
    Scripted.answer = staticmethod(lambda state, now: [Start(job.id) for job in state.queue])
    made = kit.Bench(tmp_path)
    yield made
    made.engine.close()


def _raise(state: State, now: float) -> Sequence[Action]:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        pytest.param(
            _raise,
            "queue policy scripted failed: ZeroDivisionError: division by zero"
            f" ({__file__}:N in decide, {__file__}:N in _raise)",
            id="it raises",
        ),
        pytest.param(
            lambda state, now: [Start(77)],
            "queue policy scripted starts job 77, which is not queued",
            id="a job that does not wait",
        ),
    ],
)
def test_a_policy_that_errs_is_named_and_the_queue_kept(scripted: Any, answer: Any, line: str) -> None:
    Scripted.answer = staticmethod(answer)
    job = scripted.submit()
    seen = f"; at {scripted.loop.now:g} with 1 queued ({job} for 1), 0 running, 4 of 4 units free"
    logged = re.sub(r"py:\d+", "py:N", scripted.logged[-1])
    assert (logged, scripted.running()) == (line + seen, [])
    Scripted.answer = staticmethod(lambda state, now: [Start(job)])
    scripted.submit(urgency=0)
    scripted.call("resource.drain", targets="1")  # something happens: it is asked again
    assert scripted.running() == [job]


def test_a_start_for_which_there_is_no_room(scripted: Any) -> None:
    jobs = [scripted.submit(nodes=2), scripted.submit(cores=2)]  # two are free, on different nodes
    line = f"queue policy scripted starts job {jobs[1]}, for which there is no room"
    assert (scripted.running(), line in scripted.logged) == (jobs[:1], True)


def test_a_policy_that_leaves_a_job_waiting_for_ever_is_named(scripted: Any) -> None:
    Scripted.answer = staticmethod(lambda state, now: [])
    scripted.submit()
    assert "queue policy scripted starts none of the queued jobs, though nothing runs" in scripted.logged[-1]


def test_after_a_defect_a_policy_is_notified_that_something_happened(scripted: Any) -> None:
    Scripted.answer = staticmethod(_raise)
    first = scripted.submit()
    seen: list[Happened] = []

    def answer(state: State, now: float) -> Sequence[Action]:
        seen.extend(change.what for change in state.changes)
        return [Start(job.id) for job in state.queue]

    Scripted.answer = staticmethod(answer)
    second = scripted.submit()
    assert (seen, scripted.running()) == ([Happened.CLUSTER, Happened.ARRIVED], [first, second])


def test_a_policy_is_asked_again_when_it_wished(scripted: Any) -> None:
    begin = scripted.loop.now

    def later(state: State, now: float) -> Sequence[Action]:
        if now < begin + 30:
            return [WakeAt(begin + 60), WakeAt(begin + 30)]
        return [Start(job.id) for job in state.queue]

    Scripted.answer = staticmethod(later)
    job = scripted.submit()
    scripted.submit(urgency=0)
    scripted.loop.advance(29)
    assert scripted.running() == []
    scripted.loop.advance(2)
    assert scripted.running() == [job]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"queue-policy": "esy"},
            "'esy': unknown queue policy 'esy'; did you mean 'easy'?",
        ),
        (
            {"queue-policy": "fcfs", "scheduler-settings": {"gap": 3}},
            "'fcfs': queue policy fcfs: unknown setting 'gap'; it has none",
        ),
    ],
)
def test_a_policy_that_cannot_be_loaded_stops_the_lead(
    kit: Any, tmp_path: Any, table: Any, message: str
) -> None:
    with pytest.raises(SchedulerError) as error:
        kit.Bench(tmp_path, config={"minicluster": table})
    assert str(error.value) == f"broker.toml, [minicluster] queue-policy = {message}"


def test_a_policy_plugin_that_does_not_load_is_logged(
    kit: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lead starts with the policy that is asked for; it does not with the plug-in's."""
    install_plugin(tmp_path / "site", "sjf", "my_sjf", "import no_such_module")
    monkeypatch.syspath_prepend(tmp_path / "site")
    wrong = "policy plug-in sjf (my_sjf) does not load: ModuleNotFoundError: No module named 'no_such_module'"
    assert f"{wrong}; it is passed over" in kit.Bench(tmp_path).logged
    (tmp_path / "other").mkdir()
    with pytest.raises(SchedulerError) as error:
        kit.Bench(tmp_path / "other", config={"minicluster": {"queue-policy": "sjf"}})
    assert str(error.value) == f"broker.toml, [minicluster] queue-policy = 'sjf': {wrong}"


def test_easy_announces_when_a_blocked_job_starts(kit: Any, tmp_path: Any) -> None:
    bench = kit.Bench(tmp_path, config={"minicluster": {"queue-policy": "easy"}})
    begin = bench.loop.now
    bench.submit(slots=3, duration=60)
    head, short = bench.submit(slots=4), bench.submit(duration=30)
    bench.submit(duration=90)
    assert bench.shown(head)["annotations"] == {"sched": {"t_estimate": begin + 60}}
    assert bench.running()[1:] == [short]
    bench.engine.close()
