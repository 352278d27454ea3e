"""Stand-ins of jobs that run elsewhere, over the port of an instance of either engine."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import signal
import tarfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import f58
from burst.errors import LeadAway, SpoolRefused, StandInRefused
from burst.leads import stand_in_jobs
from burst.leads.stand_in_jobs import StandInJobs
from burst.leads.stand_ins import StandIns
from burst.lifecycle.isolation import StandIn
from minicluster.instance.connection import connect
from minicluster.instance.records import JobFilter, JobRequest, JobResult, JobState
from minicluster.instance.stand_ins import prints_alone, stood_in_for
from tests.conformance.laboratory import eventually

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job
    from tests.conformance.laboratory import Laboratory

ENVIRONMENT = {"PATH": os.defpath}


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


@pytest.fixture
def label(request: pytest.FixtureRequest) -> str:
    """The label of a burst that no other test has."""
    return f"{abs(hash(request.node.nodeid)) % 10**10:010}"


@pytest.fixture
def owner(laboratory: Laboratory, instance: Instance) -> Iterator[Instance]:
    """A connection of the instance's owner, who may do more than a burst service; after `instance`."""
    del instance
    with connect(laboratory.uri) as connected:
        yield connected


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """The file into which jobs write that run here."""
    return tmp_path / "marks"


def submit(instance: Instance, marks: Path, **wishes: Any) -> int:
    """Submit a job that would note that it has run here; the queue is stopped."""
    given = {"cwd": str(marks.parent), "name": "its-name", **wishes}
    command = ("sh", "-c", f"echo ran >> {marks}")
    return instance.jobs.submit(JobRequest(command, environment=ENVIRONMENT, duration=60.0, **given))


def standing(instance: Instance, label: str) -> StandIn:
    found = run(StandIns(instance).standing(label))
    assert isinstance(found, StandIn)
    return found


def taken(instance: Instance, label: str, job: int) -> StandIn:
    """Have a stand-in take a job's place; return it once it runs."""
    run(StandIns(instance).stand_in(label, job))
    eventually(lambda: standing(instance, label).is_running, "the stand-in runs")
    return standing(instance, label)


def printed(instance: Instance, job: int) -> dict[str, bytes]:
    found = {"stdout": b"", "stderr": b""}
    with instance.jobs.output(job) as chunks:
        for each in chunks:
            if each.stream in found:
                found[each.stream] += each.data
    return found


def over(instance: Instance, label: str) -> Job:
    """Return the stand-in's job once the burst is over for it."""
    eventually(lambda: standing(instance, label).is_over, "the stand-in is over")
    return instance.jobs.get(standing(instance, label).job)


def active(instance: Instance) -> list[int]:
    return [job.id for job in instance.jobs.find(JobFilter(states=JobState.ACTIVE), limit=0)]


def packed(**files: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return made.getvalue()


def test_a_job_that_runs_elsewhere_is_here_as_if_it_had_run_here(
    instance: Instance, owner: Instance, marks: Path
) -> None:
    """F10: two megabytes byte for byte, exit code 7, results with their digest."""
    out, err = os.urandom(1 << 20), os.urandom(1 << 20)
    results = packed(result=b"42")
    job = submit(instance, marks)
    lead, label = StandIns(instance), "aaaaaaaaa1"
    found = taken(instance, label, job)
    assert (found.is_over, found.is_canceled, found.received) == (False, False, {})
    assert instance.jobs.wait(job, 20).result is JobResult.CANCELED
    assert run(lead.write(label, "stdout", 0, out[:5])) == 5
    assert run(lead.write(label, "stdout", 0, out)) == len(out)
    assert run(lead.write(label, "stderr", 0, err)) == len(err)
    assert run(lead.write(label, "results", 0, results)) == len(results)
    assert standing(instance, label).received == {
        "stdout": len(out),
        "stderr": len(err),
        "results": len(results),
    }
    run(lead.finish(label, 7 << 8, hashlib.sha256(results).hexdigest(), ""))
    ended = over(instance, label)
    assert (ended.id, ended.returncode) == (found.job, 7)
    assert printed(owner, ended.id) == {"stdout": out, "stderr": err}
    assert (marks.parent / "result").read_bytes() == b"42"
    assert not marks.exists()
    assert standing(instance, label) == StandIn(found.job, True, True, False, {})


def test_it_has_its_jobs_name_queue_urgency_and_attributes(instance: Instance, marks: Path) -> None:
    attributes = {"mine": {"a": 1}, "elastic": {"min": 1, "max": 4}, "minicluster": {"restart": False}}
    job = submit(instance, marks, urgency=20, attributes=attributes, queue="default", system={"burstable": 1})
    found = taken(instance, "aaaaaaaaa2", job)
    stood, spec = instance.jobs.get(found.job), instance.jobs.jobspec(found.job)
    assert (stood.name, stood.queue, stood.urgency, stood.duration) == ("its-name", "default", 20, 0.0)
    assert stood.attributes == {
        "mine": {"a": 1},
        "minicluster": {"restart_of": job, "stand_in": "aaaaaaaaa2"},
    }
    assert "burstable" not in spec["attributes"]["system"]
    assert (stood_in_for(spec), prints_alone(spec)) == ("aaaaaaaaa2", True)


def test_it_runs_on_a_full_lead_and_takes_nothing(instance: Instance, owner: Instance, marks: Path) -> None:
    owner.queues.start("default")
    full = submit_sleeping(owner)
    eventually(lambda: owner.jobs.get(full).state is JobState.RUN, "the node is full")
    before = owner.nodes.resources().allocated.cores
    owner.queues.stop("default")
    found = taken(instance, "aaaaaaaaa3", submit(instance, marks))
    assert owner.jobs.get(found.job).state is JobState.RUN
    assert owner.nodes.resources().allocated.cores == before


def submit_sleeping(owner: Instance, *after: str) -> int:
    request = JobRequest(
        ("sleep", "60"), nodes=1, exclusive=True, environment=ENVIRONMENT, dependencies=after
    )
    return owner.jobs.submit(request)


def test_asked_twice_there_is_one(instance: Instance, marks: Path) -> None:
    job, label = submit(instance, marks), "aaaaaaaaa4"
    found = taken(instance, label, job)
    assert taken(instance, label, job) == found
    assert active(instance) == [found.job]


def test_what_waits_for_the_job_waits_for_its_stand_in(instance: Instance, marks: Path) -> None:
    job, label = submit(instance, marks), "aaaaaaaaa5"
    after = submit(instance, marks, dependencies=(f"afterok:{job}",), name="after")
    found = taken(instance, label, job)
    [copy] = [each.id for each in instance.jobs.find(JobFilter(name="after", states=JobState.ACTIVE))]
    assert instance.jobs.get(after).state is JobState.INACTIVE
    assert instance.jobs.get(copy).dependencies == (f"after-success={found.job}",)
    run(StandIns(instance).finish(label, 0, "", ""))
    over(instance, label)
    eventually(lambda: not instance.jobs.get(copy).dependencies, "its dependency is satisfied")


def test_one_that_is_killed_gets_a_successor_which_prints_from_the_start(
    instance: Instance, owner: Instance, marks: Path
) -> None:
    job, label, lead = submit(instance, marks), "aaaaaaaaa6", StandIns(instance)
    submit(instance, marks, dependencies=(f"afterok:{job}",), name="later")
    found = taken(instance, label, job)
    run(lead.write(label, "stdout", 0, b"first\n"))
    eventually(lambda: printed(owner, found.job)["stdout"], "it prints")
    owner.jobs.kill(found.job, signal.SIGKILL)
    eventually(lambda: owner.jobs.get(found.job).state is JobState.INACTIVE, "it is killed")
    eventually(lambda: standing(instance, label).job != found.job, "it has a successor")
    successor = standing(instance, label)
    assert (successor.is_running, successor.is_over, successor.received) == (True, False, {"stdout": 6})
    run(lead.write(label, "stdout", 6, b"second\n"))
    run(lead.finish(label, 0, "", "it is done"))
    ended = over(instance, label)
    assert (ended.id, ended.returncode) == (successor.job, 0)
    assert printed(owner, ended.id) == {
        "stdout": b"first\nsecond\n",
        "stderr": b"minicluster: it is done\n",
    }
    [later] = instance.jobs.find(JobFilter(name="later", states=JobState.ACTIVE))
    assert later.state is JobState.SCHED
    run(lead.stand_in(label, job))
    assert standing(instance, label).job == ended.id
    assert not marks.exists()


def test_when_its_end_was_written_it_has_delivered_all_also_if_it_is_killed_then(
    instance: Instance, owner: Instance, marks: Path
) -> None:
    """Its program stands still until it is killed; the successor delivers, and its spool is empty then."""
    job, label, lead = submit(instance, marks), "aaaaaaaac1", StandIns(instance)
    found = taken(instance, label, job)
    run(lead.write(label, "stdout", 0, b"all of it\n"))
    eventually(lambda: printed(owner, found.job)["stdout"], "it prints")
    owner.jobs.kill(found.job, signal.SIGSTOP)

    async def killed_meanwhile() -> None:
        finishing = asyncio.create_task(lead.finish(label, 0, "", ""))
        await asyncio.sleep(0)
        await asyncio.to_thread(owner.jobs.kill, found.job, signal.SIGKILL)
        await finishing

    run(killed_meanwhile())
    ended = standing(instance, label)
    assert (ended.is_over, ended.is_canceled, ended.received) == (True, False, {})
    assert ended.job != found.job
    assert printed(owner, ended.job)["stdout"] == b"all of it\n"
    assert instance.jobs.wait(ended.job, 20).returncode == 0


def test_a_burst_that_came_to_nothing_leaves_the_job_as_it_was(
    instance: Instance, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its service ended before the job was canceled."""
    job, label, lead = submit(instance, marks), "aaaaaaaac2", StandIns(instance)
    before = StandInJobs.close_in

    def ends(jobs: StandInJobs, moved: Any) -> None:
        before(jobs, moved)
        raise ConnectionResetError

    with monkeypatch.context() as patched:
        patched.setattr(StandInJobs, "close_in", ends)
        with pytest.raises(ConnectionResetError):
            run(lead.stand_in(label, job))
    run(lead.finish(label, 1 << 8, "", "its provider has no room"))
    eventually(lambda: active(instance) == [job], "its stand-in is gone")
    found = standing(instance, label)
    assert (found.is_running, found.is_over) == (False, True)


def test_a_cancel_here_is_seen(instance: Instance, marks: Path) -> None:
    job, label, lead = submit(instance, marks), "aaaaaaaaa7", StandIns(instance)
    found = taken(instance, label, job)
    run(lead.write(label, "stdout", 0, b"x"))
    instance.jobs.cancel(found.job, "enough")
    ended = over(instance, label)
    assert (ended.id, ended.result) == (found.job, JobResult.CANCELED)
    assert standing(instance, label) == StandIn(found.job, True, True, True, {})
    run(lead.stand_in(label, job))
    assert active(instance) == []
    with pytest.raises(SpoolRefused, match=f"burst {label} has no stand-in that waits for it"):
        run(lead.write(label, "stdout", 1, b"y"))


def test_a_job_that_was_canceled_at_that_moment_stays_so(
    instance: Instance, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, label = submit(instance, marks), "aaaaaaaaa8"
    before = StandInJobs.close_in

    def canceled(jobs: StandInJobs, moved: Any) -> None:
        before(jobs, moved)
        instance.jobs.cancel(job, "its user did")

    monkeypatch.setattr(StandInJobs, "close_in", canceled)
    run(StandIns(instance).stand_in(label, job))
    eventually(lambda: standing(instance, label).is_over, "nothing stands in")
    assert standing(instance, label).is_canceled
    eventually(lambda: active(instance) == [], "nothing is left")


def test_a_job_that_has_started_runs_on(instance: Instance, owner: Instance) -> None:
    owner.queues.start("default")
    job = submit_sleeping(owner)
    eventually(lambda: owner.jobs.get(job).state is JobState.RUN, "it runs")
    with pytest.raises(StandInRefused, match=f"{f58(job)} has started here, or has ended"):
        run(StandIns(instance).stand_in("aaaaaaaaa9", job))
    assert active(owner) == [job]


def test_a_job_that_starts_meanwhile_runs_on(
    instance: Instance, owner: Instance, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what waits for it: no copy is left."""
    job = submit_sleeping(owner)
    after = submit_sleeping(owner, f"afterok:{job}")

    def started(_instance: Instance, _job: int) -> None:
        owner.queues.start("default")
        eventually(lambda: owner.jobs.get(job).state is JobState.RUN, "it runs")

    monkeypatch.setattr(stand_in_jobs, "put_aside", started)
    with pytest.raises(StandInRefused, match=f"{f58(job)} has started here"):
        run(StandIns(instance).stand_in("aaaaaaaab1", job))
    eventually(lambda: sorted(active(owner)) == sorted([job, after]), "no copy is left")
    assert not marks.exists()


def test_a_job_that_nobody_knows(instance: Instance) -> None:
    with pytest.raises(StandInRefused, match="the instance does not know ƒ"):
        run(StandIns(instance).stand_in("aaaaaaaab2", 12345))
    assert run(StandIns(instance).standing("aaaaaaaab2")) is None


def test_a_stand_in_of_a_burst_that_ended_before_is_not_taken_for_another_ones(
    instance: Instance, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that ended between submission and cancellation has left it, and its burst came to nothing."""
    job = submit(instance, marks)

    def ends(*_: Any) -> None:
        raise ConnectionResetError

    with monkeypatch.context() as patched:
        patched.setattr(StandInJobs, "close_in", ends)
        with pytest.raises(ConnectionResetError):
            run(StandIns(instance).stand_in("aaaaaaaab3", job))
    assert len(active(instance)) == 2
    found = taken(instance, "aaaaaaaab4", job)
    eventually(lambda: active(instance) == [found.job], "the other one is gone")


def test_a_job_begins_anew_for_its_stand_in(instance: Instance, marks: Path) -> None:
    """Its instance elsewhere was lost: what waited for it waits on."""
    job, label, lead = submit(instance, marks), "aaaaaaaab5", StandIns(instance)
    submit(instance, marks, dependencies=(f"afterok:{job}",), name="afterwards")
    found = taken(instance, label, job)
    words = run(lead.begin_anew(found.job, job, "its instance is lost"))
    [again] = [each.id for each in instance.jobs.find(JobFilter(name="its-name", states=JobState.ACTIVE))]
    assert words == f"begun anew as {f58(again)}"
    assert instance.jobs.jobspec(again)["tasks"] == instance.jobs.jobspec(job)["tasks"]
    [after] = instance.jobs.find(JobFilter(name="afterwards", states=JobState.ACTIVE))
    assert after.dependencies == (f"after-success={again}",)
    assert standing(instance, label).is_over
    eventually(lambda: instance.jobs.get(again).state is JobState.SCHED, "it waits for its queue alone")


def test_a_job_that_must_not_run_twice_is_lost(instance: Instance, marks: Path) -> None:
    job = submit(instance, marks, attributes={"minicluster": {"restart": False}})
    found = taken(instance, "aaaaaaaab6", job)
    words = run(StandIns(instance).begin_anew(found.job, job, "its instance is lost"))
    assert words == "lost: it is not to be started again"
    assert active(instance) == [found.job]


def test_what_is_refused_for_good_and_what_may_be_repeated(instance: Instance, marks: Path) -> None:
    label, lead = "aaaaaaaab7", StandIns(instance)
    taken(instance, label, submit(instance, marks))
    run(lead.write(label, "stdout", 0, b"abc"))
    with pytest.raises(SpoolRefused, match="stdout: other bytes are there already, from byte 0 on"):
        run(lead.write(label, "stdout", 0, b"xyz"))
    assert run(lead.write(label, "stdout", 7, b"xyz")) == 3
    with pytest.raises(LeadAway), closed(instance):
        run(lead.write(label, "stdout", 3, b"d"))


@contextmanager
def closed(instance: Instance) -> Iterator[None]:
    instance.close()
    yield
