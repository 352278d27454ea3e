"""Following jobs: output, exit codes, and what the user is told meanwhile."""

from __future__ import annotations

import contextlib
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from minicluster.cli import job_follow
from minicluster.cli.job_words import Whose, goes_on
from minicluster.instance.errors import InstanceGone
from minicluster.instance.records import (
    Job,
    JobException,
    JobResult,
    JobState,
    OutputChunk,
    QueueResources,
    QueueStatus,
    Resources,
    ResourceSubset,
)
from tests.devcluster.waiting import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.port import Instance

PART = ResourceSubset((0,), ("a",), cores=2)


class Jobs:
    """Jobs whose ids are their exit codes; each writes a line, and the even ones have two tasks."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.released.set()
        self.broken: set[int] = set()
        self.chunks: list[OutputChunk] = []
        """What is written in place of a line."""

    def get(self, jobid: int) -> Job:
        """Return one, which is pending until all are released."""
        if not self.released.is_set():
            return Job(jobid, JobState.SCHED)
        tasks = 1 + (jobid % 2 == 0)
        return Job(jobid, JobState.INACTIVE, JobResult.FAILED, ntasks=tasks, waitstatus=jobid << 8)

    def wait(self, jobid: int, timeout: float | None = None) -> Job:
        """Return one, once all are released."""
        self.released.wait(SECONDS)
        return self.get(jobid)

    @contextlib.contextmanager
    def output(self, jobid: int, *, follow: bool) -> Iterator[Iterator[OutputChunk]]:
        """Yield the line of a job."""
        if jobid in self.broken:
            raise InstanceGone("the broker ended")
        assert follow
        self.released.wait(SECONDS)
        yield iter(self.chunks or [OutputChunk(jobid, 0, jobid % 3, "stdout", b"line\n")])


@pytest.fixture
def jobs() -> Jobs:
    """Jobs that have ended."""
    return Jobs()


def _instance(jobs: Jobs) -> Instance:
    nothing = ResourceSubset()
    resources = Resources(PART, PART, nothing, nothing, PART, nothing, nothing)
    made: Any = SimpleNamespace(
        jobs=jobs,
        nodes=SimpleNamespace(by_queue=lambda: QueueResources(resources)),
        queues=SimpleNamespace(all=lambda: [QueueStatus("", enabled=True, started=True)]),
        links=SimpleNamespace(inherits_environment=True),
    )
    return cast("Instance", made)


def test_one_job_is_shown_as_it_writes(jobs: Jobs, capfdbinary: Any) -> None:
    assert job_follow.follow_all(_instance(jobs), [3]) == 3
    assert capfdbinary.readouterr() == (b"line\n", b"")


def test_the_lines_of_several_jobs_are_labelled(jobs: Jobs, capfdbinary: Any) -> None:
    """More than are followed at once; the exit code is the greatest."""
    numbers = range(1, job_follow.MAX_FOLLOWED + 5)
    assert job_follow.follow_all(_instance(jobs), list(numbers)) == numbers[-1]
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert (len(lines), {"ƒ2: line", "ƒ3: 2: line"} <= set(lines)) == (len(numbers), True)


def test_what_goes_wrong_with_one_of_several_is_raised(jobs: Jobs) -> None:
    jobs.broken.add(2)
    with pytest.raises(InstanceGone):
        job_follow.follow_all(_instance(jobs), [1, 2, 3])


@pytest.mark.parametrize(
    ("tasks", "elastic", "line"),
    [
        pytest.param(1, None, "line\n", id="one"),
        pytest.param(2, None, "1: line\n", id="two"),
        pytest.param(1, {"min": 1, "max": 4, "malleable": True}, "1: line\n", id="shrunk to one"),
        pytest.param(1, {"min": 1, "max": 1, "malleable": True}, "line\n", id="never more than one"),
        pytest.param(1, {"min": 1, "max": 4, "malleable": False}, "line\n", id="moldable"),
    ],
)
def test_lines_have_their_task_where_there_may_be_several(
    jobs: Jobs, capfdbinary: Any, tasks: int, elastic: Any, line: str
) -> None:
    annotations = {"sched": {"elastic": elastic}} if elastic else {}
    job = Job(1, JobState.RUN, ntasks=tasks, annotations=annotations)
    job_follow.copy_output(_instance(jobs), job)
    assert capfdbinary.readouterr().out.decode() == line


@pytest.mark.parametrize(
    ("tasks", "shown"),
    [
        pytest.param(1, "abcd\nxef\n y", id="one task, as it comes"),
        pytest.param(2, "1: cd\n0: abef\n1: x y", id="two tasks"),
    ],
)
def test_a_line_that_comes_in_parts_is_labelled_once(
    jobs: Jobs, capfdbinary: Any, tasks: int, shown: str
) -> None:
    """Parts of lines of several tasks come mixed; the last one may have no end."""
    written = [(0, b"ab"), (1, b"cd\nx"), (0, b"ef\n"), (1, b" y")]
    jobs.chunks = [OutputChunk(1, 0, task, "stdout", data) for task, data in written]
    job_follow.copy_output(_instance(jobs), Job(1, JobState.RUN, ntasks=tasks))
    assert capfdbinary.readouterr().out.decode() == shown


def test_all_are_waited_for(jobs: Jobs) -> None:
    assert job_follow.wait_for_all(_instance(jobs), [4, 9, 1]) == 9


@pytest.mark.parametrize(
    ("job", "code"),
    [
        (Job(1, JobState.INACTIVE, JobResult.COMPLETED, waitstatus=0), 0),
        (Job(1, JobState.INACTIVE, JobResult.FAILED, waitstatus=768), 3),
        (Job(1, JobState.INACTIVE, JobResult.FAILED, waitstatus=9), 137),
        (Job(1, JobState.INACTIVE, JobResult.CANCELED), 1),
        (Job(1, JobState.INACTIVE), 1),
        (
            Job(1, JobState.INACTIVE, JobResult.FAILED, waitstatus=0, exception=JobException("exec", 0, "")),
            1,
        ),
    ],
    ids=["success", "code", "signal", "canceled", "unknown", "exit timeout"],
)
def test_an_exit_code_is_as_in_a_shell(job: Job, code: int) -> None:
    assert job_follow.exit_code(job) == code


def test_the_exception_that_ended_a_job_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    job = Job(1, JobState.INACTIVE, JobResult.FAILED, exception=JobException("alloc", 0, "too large"))
    assert job_follow.exit_code(job) == 1
    assert capsys.readouterr().err == "minicluster: job.exception type=alloc: too large\n"


def test_what_the_user_knows_is_not_printed_again(capsys: pytest.CaptureFixture[str]) -> None:
    never = Job(1, JobState.INACTIVE, JobResult.FAILED, exception=JobException("alloc", 0, "need 2 GPUs"))
    other = Job(1, JobState.INACTIVE, JobResult.FAILED, exception=JobException("exec", 0, "no such file"))
    assert [job_follow.exit_code(each, known="2 GPUs are too many") for each in (never, other)] == [1, 1]
    assert capsys.readouterr().err == "minicluster: job.exception type=exec: no such file\n"


class Failed(Jobs):
    """Jobs that could not start: the odd ones for a reason of their own."""

    def get(self, jobid: int) -> Job:
        """Return one."""
        why = f"out/{jobid}.txt: No such file or directory" if jobid % 2 else "no such program"
        return Job(jobid, JobState.INACTIVE, JobResult.FAILED, exception=JobException("exec", 0, why))


@pytest.mark.parametrize("end", [job_follow.wait_for_all, job_follow.follow_all], ids=["wait", "watch"])
def test_why_several_jobs_failed_is_printed_once(end: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each reason: what is equal is gathered."""
    instance, numbers = _instance(Failed()), [1, *range(2, 30, 2)]
    assert end(instance, numbers) == 1
    job_follow.name_failed(instance, numbers)
    names = "ƒ3, ƒ5, ƒ7, ƒ9, ƒB, ƒD, ƒF, ƒH, ƒK, ƒM"
    assert capsys.readouterr().err == (
        "minicluster: ƒ2: FAILED, out/1.txt: No such file or directory\n"
        f"minicluster: {names} and 4 more: FAILED, no such program\n"
    )


def test_why_a_job_waits_is_reported_after_a_while(
    monkeypatch: pytest.MonkeyPatch, jobs: Jobs, capfd: Any
) -> None:
    monkeypatch.setattr(job_follow, "WAITING", 0.0)
    jobs.released.clear()
    notice = job_follow._report_waiting

    def report(instance: Instance, jobid: int) -> None:
        notice(instance, jobid)
        jobs.released.set()

    monkeypatch.setattr(job_follow, "_report_waiting", report)
    assert job_follow.follow(_instance(jobs), Job(3, JobState.SCHED)) == 3
    assert capfd.readouterr() == (
        "line\n",
        "minicluster: ƒ4: waits for resources: 0 of 2 cores on 1 node are free\n",
    )


def test_of_a_job_whose_end_is_awaited_the_reason_why_it_waits_is_reported(
    monkeypatch: pytest.MonkeyPatch, jobs: Jobs, capfd: Any
) -> None:
    monkeypatch.setattr(job_follow, "WAITING", 0.0)
    jobs.released.clear()
    notice = job_follow._report_waiting

    def report(instance: Instance, jobid: int) -> None:
        notice(instance, jobid)
        jobs.released.set()

    monkeypatch.setattr(job_follow, "_report_waiting", report)
    left: list[str] = []
    assert (job_follow.report_ends(_instance(jobs), [Job(3, JobState.SCHED)], left), left) == (3, [])
    assert capfd.readouterr() == (
        "ƒ4: FAILED, exit code 3\n",
        "minicluster: ƒ4: waits for resources: 0 of 2 cores on 1 node are free\n",
    )


WHOSE = Whose("mc", lambda: " -n x")
GOES_ON = [
    pytest.param(
        ["ƒ2"],
        "ƒ2 goes on: `minicluster attach mc ƒ2 -n x` shows it again, `minicluster cancel mc ƒ2 -n x` ends it",
        id="a job",
    ),
    pytest.param(["ƒ2", "ƒ3"], "2 jobs go on: `minicluster jobs mc -n x` lists them", id="jobs"),
    pytest.param(
        None, "the command of mc goes on: `minicluster attach mc -n x` shows it again", id="the command"
    ),
    pytest.param([], "", id="nothing yet"),
]


@pytest.mark.parametrize(("followed", "message"), GOES_ON)
def test_after_ctrl_c_jobs_go_on_and_the_user_learns_it(
    capsys: pytest.CaptureFixture[str], followed: list[str] | None, message: str
) -> None:
    with pytest.raises(KeyboardInterrupt), goes_on(WHOSE, followed):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == (f"minicluster: {message}\n" if message else "")
