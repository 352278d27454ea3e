"""Jobs over a back end that none of ours is: their urgency, their sizes, and their ends."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.errors import JobInactive, RequestRefused
from minicluster.instance.records import JobState
from tests.backends import memory_backend
from tests.backends.memory_calls import lines_of, message_of
from tests.backends.memory_instance import MemoryJobs

if TYPE_CHECKING:
    from tests.backends.memory_calls import Call

ABSENT = "cluster mc has no such job; `minicluster jobs mc --all --on memory --rack first` lists what it has"

NO_ID = "nope: is no job id; `minicluster jobs mc --on memory --rack first` lists them"


def _submitted(call: Call, *words: str) -> list[str]:
    return call("submit", "mc", *words)[1].split()


def _jobs() -> MemoryJobs:
    return memory_backend.RACKS["first"]["mc"].instance.jobs


def _make_run() -> None:
    """Have the only job run."""
    jobs = _jobs()
    ((number, job),) = jobs.found.items()
    jobs.found[number] = replace(job, state=JobState.RUN)


@pytest.mark.parametrize(
    ("value", "now"),
    [
        ("hold", "0 (held)"),
        ("default", "16"),
        ("EXPEDITE", "31 (expedited)"),
        ("7", "7"),
    ],
)
def test_what_an_urgency_was_and_is_is_printed(call: Call, value: str, now: str) -> None:
    (job,) = _submitted(call, "--urgency", "hold", "true")
    assert call("urgency", "mc", job, value) == (0, f"{job}: urgency 0 (held) → {now}\n", "")


def test_a_job_that_is_released_runs(call: Call) -> None:
    (job,) = _submitted(call, "--urgency", "hold", "true")
    call("urgency", job, "default")
    (row,) = json.loads(call("jobs", "mc", job, "-o", "json")[1])
    assert (row["state"], row["urgency"]) == ("COMPLETED", 16)


def test_the_urgency_of_several_jobs_is_changed(call: Call) -> None:
    """What is wrong with one of them is reported once the others are changed."""
    (ended,) = _submitted(call, "true")
    jobs = _submitted(call, "--cc", "1-2", "--urgency", "hold", "true")
    code, out, err = call("urgency", "mc", jobs[0], ended, "ƒ2", jobs[1], "31")
    changed = [f"{job}: urgency 0 (held) → 31 (expedited)" for job in jobs]
    assert (code, out.splitlines()) == (2, changed)
    only = "only the urgency of a job that waits can be changed"
    assert err.splitlines() == [
        f"minicluster: {ended}: has ended already, with COMPLETED; {only}",
        f"minicluster: ƒ2: {ABSENT}",
    ]


def test_a_job_that_runs_keeps_its_urgency(call: Call) -> None:
    (job,) = _submitted(call, "--urgency", "hold", "true")
    _make_run()
    message = f"minicluster: {job}: runs already; only the urgency of a job that waits can be changed\n"
    assert call("urgency", "mc", job, "hold") == (2, "", message)


def test_a_job_that_ends_meanwhile_keeps_its_urgency(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = _submitted(call, "--urgency", "hold", "true")

    def end(jobs: MemoryJobs, jobid: int, _urgency: int) -> int:
        jobs.submit(replace(jobs.requests[jobid], urgency=16))
        jobs.found[jobid] = jobs.found.pop(jobid + 1)
        raise JobInactive(jobid)

    monkeypatch.setattr(MemoryJobs, "set_urgency", end)
    code, out, err = call("urgency", "mc", job, "hold")
    assert (code, out, "has ended already, with COMPLETED" in err) == (2, "", True)


def test_what_an_instance_has_against_an_urgency_is_shown(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = _submitted(call, "--urgency", "hold", "true")

    def deny(_jobs: MemoryJobs, _jobid: int, _urgency: int) -> int:
        raise RequestRefused("job-manager.urgency", errno.EPERM, "guests can only hold jobs")

    monkeypatch.setattr(MemoryJobs, "set_urgency", deny)
    message = "minicluster: job-manager.urgency: guests can only hold jobs\n"
    assert call("urgency", "mc", job, "expedite") == (1, "", message)


def test_jobs_are_moved_and_limited(call: Call) -> None:
    one, other = _submitted(call, "--cc", "1-2", "--urgency", "hold", "true")
    shown = f"{one}: queue debug, time limit 1.5h\n{other}: queue debug, time limit 1.5h\n"
    words = ("--queue", "debug", "--time-limit", "90m")
    assert call("update", "mc", one, other, *words) == (0, shown, "")
    assert call("update", "mc", one, "--time-limit", "none") == (0, f"{one}: time limit none\n", "")
    (row,) = json.loads(call("jobs", "mc", one, "--output", "json")[1])
    assert row["queue"] == "debug"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("JOB",), "--queue or --time-limit: at least one is needed"),
        (("JOB", "--time-limit", "soon"), "'soon' is no duration; right would be 30s, 5m, 1.5h or 2d"),
        (("--queue", "debug"), "JOB: is needed; `minicluster jobs` lists them"),
        (("nonsense", "--queue", "debug"), "nonsense: is no job id; `minicluster jobs mc"),
    ],
)
def test_what_is_no_update_is_refused(call: Call, words: tuple[str, ...], message: str) -> None:
    (job,) = _submitted(call, "--urgency", "hold", "true")
    code, out, err = call("update", "mc", *(job if word == "JOB" else word for word in words))
    assert (code, out) == (2, "")
    assert message in err


def test_a_job_that_has_ended_is_not_updated(call: Call) -> None:
    (job,) = _submitted(call, "true")
    message = f"minicluster: {job}: has ended already; only what waits or runs can be changed\n"
    assert call("update", "mc", job, "--queue", "debug") == (2, "", message)


def test_what_an_instance_has_against_an_update_is_shown(call: Call) -> None:
    (job,) = _submitted(call, "--urgency", "hold", "true")
    message = "minicluster: job-manager.update: 'nope' is not a valid queue\n"
    assert call("update", "mc", job, "--queue", "nope") == (1, "", message)


def test_jobs_are_waited_for(call: Call) -> None:
    """The exit code is that of the worst."""
    good, bad = _submitted(call, "true")[0], _submitted(call, "false")[0]
    shown = f"{bad}: FAILED, exit code 1\n{good}: COMPLETED\n"
    assert call("wait", "mc", bad, good) == (1, shown, "")
    assert call("wait", good, good) == (0, f"{good}: COMPLETED\n", "")


@pytest.mark.parametrize("option", ["--wait", "--watch"])
def test_those_of_several_that_failed_are_named(call: Call, option: str) -> None:
    code, out, err = call("submit", "mc", option, "--cc", "1-2", "false")
    one, two = out.splitlines()[:2]
    assert (code, err) == (1, f"minicluster: {one}, {two}: FAILED, exit code 1\n")


def test_one_that_failed_is_known_by_the_exit_code(call: Call) -> None:
    code, _, err = call("submit", "mc", "--wait", "false")
    assert (code, err) == (1, "")


def test_a_time_that_is_over_leaves_jobs_alone(call: Call) -> None:
    """Those that have ended are reported."""
    jobs = _submitted(call, "--cc", "1-2", "--urgency", "hold", "true")
    (ended,) = _submitted(call, "true")
    lists = "`minicluster jobs mc --on memory --rack first` lists them"
    message = f"minicluster: the time of 0s is over; 2 jobs go on: {lists}\n"
    assert call("wait", "mc", *jobs, ended, "--timeout", "0") == (124, f"{ended}: COMPLETED\n", message)
    code, out, err = call("wait", "mc", jobs[0], "--timeout", "5m")
    where = f"mc {jobs[0]} --on memory --rack first"
    shows = f"`minicluster attach {where}` shows it again, `minicluster cancel {where}` ends it"
    assert (code, out) == (124, "")
    assert err == f"minicluster: the time of 5m is over; {jobs[0]} goes on: {shows}\n"


def test_all_that_have_not_ended_are_waited_for(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the document's own command: the cluster would end with it."""
    (main,) = _submitted(call, "--urgency", "hold", "-S", "user.minicluster.main=true", "true")
    _make_run()
    _submitted(call, "true")
    (job,) = _submitted(call, "--urgency", "hold", "false")

    def run(jobs: MemoryJobs, jobid: int, _timeout: float | None = None) -> object:
        jobs.set_urgency(jobid, 16)
        return jobs.get(jobid)

    monkeypatch.setattr(MemoryJobs, "wait", run)
    left_out = f"minicluster: {main} is the document's own command, and is not waited for\n"
    assert call("wait", "mc", "--all") == (1, f"{job}: FAILED, exit code 1\n", left_out)
    assert call("wait", "mc", "--all") == (0, "no jobs\n", left_out)


def test_after_ctrl_c_the_jobs_that_have_not_ended_go_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    (ended,) = _submitted(call, "true")
    (job,) = _submitted(call, "--urgency", "hold", "true")
    wait = MemoryJobs.wait

    def interrupted(jobs: MemoryJobs, jobid: int, timeout: float | None = None) -> object:
        if jobs.get(jobid).result is None:
            raise KeyboardInterrupt
        return wait(jobs, jobid, timeout)

    monkeypatch.setattr(MemoryJobs, "wait", interrupted)
    code, out, err = call("wait", "mc", ended, job)
    assert (code, out) == (130, f"{ended}: COMPLETED\n")
    assert err.startswith(f"minicluster: {job} goes on: `minicluster attach mc {job} --on memory")


def test_an_unknown_job_is_found_before_any_is_waited_for(call: Call) -> None:
    (job,) = _submitted(call, "true")
    assert call("wait", "mc", job, "ƒ2") == (2, "", f"minicluster: ƒ2: {ABSENT}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("urgency mc ƒJF soon", "for URGENCY: 'soon' is no urgency; right would be 0 to 31, hold, default"),
        ("urgency mc ƒJF 32", "for URGENCY: '32' is no urgency"),
        ("urgency mc 5", "for JOB: is needed; `minicluster jobs` lists them"),
        ("wait mc", "for JOB: is needed, or --all; `minicluster jobs` lists them"),
        ("wait mc ƒJF --all", "for JOB: either ids or --all; `minicluster jobs` lists them"),
        ("wait mc --all --timeout soon", "for --timeout: 'soon' is no duration; right would be 30s, 5m"),
    ],
)
def test_a_wrong_call_is_refused(call: Call, words: str, message: str) -> None:
    code, shown = message_of(call(*words.split()))
    assert (code, f"Invalid value {message}" in shown) == (2, True), shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("urgency mc nope hold", NO_ID),
        ("wait mc nope", NO_ID),
    ],
)
def test_what_a_cluster_does_not_have_is_named(call: Call, words: str, message: str) -> None:
    assert call(*words.split()) == (2, "", f"minicluster: {message}\n")


@pytest.fixture
def running(call: Call) -> str:
    """A job of four workers that runs."""
    job = call("submit", "mc", "-n", "4", "true")[1].strip()
    _jobs().found = {
        key: replace(each, state=JobState.RUN, result=None) for key, each in _jobs().found.items()
    }
    return job


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        pytest.param("2", 0, "JOB: 4 → 2 workers", id="shrinks"),
        pytest.param("1", 0, "JOB: 4 → 1 worker", id="to-one"),
        pytest.param("2 --no-wait", 0, "JOB: 4 → 2 workers asked for", id="no-wait"),
        pytest.param("4", 0, "JOB: has 4 workers already", id="the-same"),
        pytest.param("5", 1, "minicluster: JOB: runs with 1 to 4 workers here, not with 5", id="beyond"),
        pytest.param("3", 1, "minicluster: JOB: refused: three of us would not do", id="program"),
    ],
)
def test_a_job_is_resized(call: Call, running: str, words: str, code: int, line: str) -> None:
    ended, lines = lines_of(call("resize", "mc", running, *words.split()))
    assert (ended, lines) == (code, [line.replace("JOB", running)])


def test_a_job_that_has_ended_is_not_resized(call: Call) -> None:
    (ended,) = _submitted(call, "true")
    message = f"minicluster: {ended}: has ended; there is nothing to resize\n"
    assert call("resize", "mc", ended, "2") == (2, "", message)


@pytest.mark.parametrize(("job", "message"), [("ƒ9", f"ƒ9: {ABSENT}"), ("nope", NO_ID)])
def test_only_a_job_of_the_cluster_is_resized(call: Call, job: str, message: str) -> None:
    assert call("resize", "mc", job, "2") == (2, "", f"minicluster: {message}\n")
