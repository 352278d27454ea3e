"""Eventlogs compared with those that real Flux 0.88 writes (recorded: names, contexts and order)."""

from __future__ import annotations

from typing import Any

import pytest

SUBMIT = ("submit", {"userid": 1000, "urgency": 16, "flags": 0, "version": 1})
QUEUED = [("validate", {}), ("depend", {}), ("priority", {"priority": 16})]
ALLOC = ("alloc", {"annotations": {"sched": {"resource_summary": "rank0/core0"}}})
ENDED = [("release", {"ranks": "all", "final": True}), ("free", {}), ("clean", {})]
RUN = [SUBMIT, *QUEUED, ALLOC, ("start", {})]


def _exception(kind: str, note: str, severity: int = 0) -> tuple[str, dict[str, Any]]:
    return ("exception", {"type": kind, "severity": severity, "note": note, "userid": 1000})


def test_success(bench: Any) -> None:
    job = bench.submit()
    bench.finish(job)
    assert bench.log(job) == [*RUN, ("finish", {"status": 0}), *ENDED]


def test_failure(bench: Any) -> None:
    job = bench.submit()
    bench.finish(job, 3 << 8)
    assert bench.log(job) == [*RUN, ("finish", {"status": 768}), *ENDED]


def test_command_not_found(bench: Any) -> None:
    note = "task 0 (host mc-0): start failed: nosuch: No such file or directory"
    job = bench.submit("nosuch")
    bench.started(job)
    bench.engine.events.exception(job, "exec", 0, note)
    bench.finish(job, 127 << 8)
    assert bench.log(job) == [*RUN, _exception("exec", note), ("finish", {"status": 32512}), *ENDED]


def test_cancel_while_running(bench: Any) -> None:
    job = bench.submit("sleep")
    bench.started(job)
    bench.call("job-manager.raise", id=job, severity=0, type="cancel", note="why not")
    assert bench.executor.kills == [(job, 15)]
    bench.finish(job, 143 << 8)
    assert bench.log(job) == [*RUN, _exception("cancel", "why not"), ("finish", {"status": 36608}), *ENDED]


def test_cancel_while_waiting(bench: Any) -> None:
    job = bench.submit(urgency=0)
    bench.call("job-manager.raise", id=job, severity=0, type="cancel")
    pending = [("submit", {**SUBMIT[1], "urgency": 0}), *QUEUED[:2], ("priority", {"priority": 0})]
    assert bench.log(job) == [*pending, _exception("cancel", ""), ("clean", {})]


def test_time_limit(bench: Any) -> None:
    job = bench.submit("sleep", duration=60)
    bench.started(job)
    bench.loop.advance(59.9)
    assert bench.executor.kills == []
    bench.loop.advance(0.2)
    assert bench.executor.kills == [(job, 14)], "SIGALRM, as Flux"
    bench.finish(job, 142 << 8)
    expired = _exception("timeout", "resource allocation expired")
    assert bench.log(job) == [*RUN, expired, ("finish", {"status": 36352}), *ENDED]


def test_urgency_0_then_expedited(bench: Any) -> None:
    job = bench.submit(urgency=0)
    assert bench.running() == []
    assert bench.call("job-manager.urgency", id=job, urgency=31) == {"old_urgency": 0}
    bench.finish(job)
    assert bench.log(job)[3:6] == [
        ("priority", {"priority": 0}),
        ("urgency", {"userid": 1000, "urgency": 31}),
        ("priority", {"priority": 4294967295}),
    ]


def test_an_exception_that_is_not_fatal(bench: Any) -> None:
    job = bench.submit("sleep")
    bench.started(job)
    bench.call("job-manager.raise", id=job, severity=2, type="foo", note="bar")
    assert bench.executor.kills == []
    bench.finish(job)
    assert bench.log(job)[6] == _exception("foo", "bar", 2)


@pytest.mark.parametrize(
    ("wanted", "note"),
    [
        pytest.param(
            {"nodes": 100, "exclusive": True},
            "need 100 exclusive node(s), only 2 eligible",
            id="nodes",
        ),
        pytest.param(
            {"cores": 5},
            "need 1 slot(s) of 5 core(s), only 0 such slot(s) available (total cores: 4)",
            id="cores",
        ),
        pytest.param(
            {"slots": 100},
            "need 100 slot(s) of 1 core(s), only 4 such slot(s) available (total cores: 4)",
            id="slots",
        ),
        pytest.param(
            {"gpus": 1},
            "need 1 slot(s) with 1 GPU(s) each, only 0 available (total GPUs: 0)",
            id="gpus",
        ),
        pytest.param(
            {"nodes": 1, "slots": 3},
            "need 1 node(s) with 3 cores each, only 0 eligible",
            id="slots on a node",
        ),
        pytest.param(
            {"nodes": 1, "slots": 2, "gpus": 1},
            "need 1 node(s) with 2 cores and 2 GPUs each, only 0 eligible",
            id="GPUs on a node",
        ),
    ],
)
def test_a_request_that_never_fits_is_denied(bench: Any, wanted: dict[str, Any], note: str) -> None:
    note = f"unsatisfiable request: {note}"
    job = bench.submit(**wanted)
    assert bench.log(job) == [SUBMIT, *QUEUED, _exception("alloc", note), ("clean", {})]


def test_exec_events_have_their_own_log(bench: Any) -> None:
    job = bench.submit()
    bench.engine.events.exec_event(job, "shell.init", {"size": 1})
    bench.finish(job)
    assert bench.log(job, "guest.exec.eventlog") == [("shell.init", {"size": 1})]


def test_reports_about_a_job_that_is_gone_are_ignored(bench: Any) -> None:
    job = bench.submit()
    bench.finish(job)
    before = bench.log(job)
    bench.finish(job)
    bench.engine.events.exception(job, "exec", 0, "too late")
    bench.engine.events.output(job, 0, "stdout", b"too late")
    bench.engine.events.eof(job, 0, "stdout")
    bench.engine.events.exec_event(job, "done")
    assert bench.log(job) == before


# Dependencies: what the target does, and what becomes of the job that waits for it.
OK, BAD = 0, 256


@pytest.mark.parametrize(
    ("scheme", "outcome", "last"),
    [
        pytest.param("afterok", OK, "start", id="afterok, success"),
        pytest.param(
            "afterok", BAD, "dependency after-success={} can never be satisfied", id="afterok, failure"
        ),
        pytest.param(
            "afterok", None, "dependency after-success={} job never started", id="afterok, canceled"
        ),
        pytest.param(
            "afternotok", OK, "dependency after-failure={} can never be satisfied", id="notok, success"
        ),
        pytest.param("afternotok", BAD, "start", id="afternotok, failure"),
        pytest.param(
            "afternotok", None, "dependency after-failure={} job never started", id="notok, canceled"
        ),
        pytest.param("afterany", OK, "start", id="afterany, success"),
        pytest.param("afterany", BAD, "start", id="afterany, failure"),
        pytest.param("afterany", None, "start", id="afterany, canceled"),
    ],
)
def test_dependencies(bench: Any, scheme: str, outcome: int | None, last: str) -> None:
    target = bench.submit(urgency=0)
    job = bench.submit(dependencies=[{"scheme": scheme, "value": str(target)}])
    kind = bench.shown(job)["dependencies"][0].partition("=")[0]
    assert bench.names(job) == ["submit", "dependency-add", "validate"]
    if outcome is None:
        bench.call("job-manager.raise", id=target, severity=0, type="cancel")
    else:
        bench.call("job-manager.urgency", id=target, urgency=16)
        bench.finish(target, outcome)
    if last == "start":
        assert bench.running()[-1] == job
        assert ("dependency-remove", {"description": f"{kind}={target}"}) in bench.log(job)
    else:
        assert bench.log(job)[-2:] == [_exception("dependency", last.format(target)), ("clean", {})]


def test_a_chain_of_dependencies_fails_to_its_end(bench: Any) -> None:
    first = bench.submit(urgency=0)
    second = bench.submit(dependencies=[{"scheme": "afterok", "value": str(first)}])
    third = bench.submit(dependencies=[{"scheme": "afterany", "value": str(second)}])
    bench.call("job-manager.raise", id=first, severity=0, type="cancel")
    assert (bench.names(second)[-1], bench.running()) == ("clean", [third])


def test_a_dependency_satisfied_at_submission_is_still_in_the_log(bench: Any) -> None:
    target = bench.submit()
    bench.finish(target)
    job = bench.submit(dependencies=[{"scheme": "afterok", "value": str(target)}])
    described = {"description": f"after-success={target}"}
    assert bench.log(job)[1:3] == [("dependency-add", described), ("dependency-remove", described)]
