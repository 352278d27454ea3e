"""Restarts on an instance in memory that has Flux's rules of dependencies, cut off after each call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.save_restore import restarts
from minicluster.save_restore.errors import JobRefused
from minicluster.save_restore.restarts import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEPEND, SCHED, RUN, OVER = "depend", "sched", "run", "over"


class Cut(Exception):  # noqa: N818 - a test's own signal
    """Whoever restarts was killed."""


@dataclass
class Job:
    spec: dict[str, Any]
    urgency: int
    state: str = DEPEND
    ran: bool = False
    completed: bool = False
    by_itself: bool = False
    note: str = ""


@dataclass
class Instance:
    """Jobs start when the test says so: the queues are stopped."""

    jobs: dict[int, Job] = field(default_factory=dict)
    cut_after: int = -1
    refuses: Callable[[dict[str, Any]], bool] = lambda _spec: False
    meanwhile: Callable[[], None] = lambda: None

    # -- what a restart asks for

    def urgency(self, jobid: int) -> int | None:
        job = self.jobs[jobid]
        return job.urgency if job.state == RUN else None

    def pends(self, jobid: int) -> bool:
        return self.jobs[jobid].state in (DEPEND, SCHED)

    def waiting(self) -> list[Waiting]:
        return [Waiting(key, job.urgency) for key, job in self.jobs.items() if job.state == DEPEND]

    def jobspec(self, jobid: int) -> dict[str, Any]:
        return self.jobs[jobid].spec

    def submit(self, jobspec: dict[str, Any], urgency: int) -> int:
        self._step()
        if self.refuses(jobspec):
            raise JobRefused("it does not fit")
        return self.add(jobspec, urgency)

    def cancel(self, jobid: int, reason: str) -> None:
        self._step()
        self.meanwhile()
        if self.jobs[jobid].state != OVER:
            self.jobs[jobid].note = reason
            self._end(jobid, completed=False)

    def await_ends(self, jobids: Iterable[int]) -> None:
        assert all(self.jobs[each].state == OVER for each in jobids)

    def finished(self, jobid: int) -> bool:
        return self.jobs[jobid].by_itself

    def _step(self) -> None:
        if self.cut_after == 0:
            raise Cut
        self.cut_after -= 1

    # -- Flux's rules

    def add(self, spec: dict[str, Any], urgency: int = 16) -> int:
        number = len(self.jobs) + 1
        if False in _verdicts(self.jobs, spec):
            raise JobRefused("a dependency can never be satisfied")
        self.jobs[number] = Job(spec, urgency)
        self._reconsider()
        return number

    def run(self, jobid: int) -> None:
        assert self.jobs[jobid].state == SCHED
        self.jobs[jobid].state, self.jobs[jobid].ran = RUN, True

    def finish(self, jobid: int) -> None:
        self.jobs[jobid].by_itself = True
        self._end(jobid, completed=True)

    def run_all(self) -> None:
        """Start the queues, and let everything complete."""
        while ready := [key for key, job in self.jobs.items() if job.state == SCHED]:
            for each in ready:
                self.run(each)
                self.finish(each)

    def _end(self, jobid: int, *, completed: bool) -> None:
        self.jobs[jobid].state, self.jobs[jobid].completed = OVER, completed
        self._reconsider()

    def _reconsider(self) -> None:
        for key, job in self.jobs.items():
            if job.state == DEPEND:
                verdicts = _verdicts(self.jobs, job.spec)
                if False in verdicts:
                    job.note = "a dependency can never be satisfied"
                    self._end(key, completed=False)
                elif None not in verdicts:
                    job.state = SCHED


def _verdict(target: Job, scheme: str) -> bool | None:
    """Tell whether a dependency on a job is satisfied, None: not yet."""
    if target.state != OVER:
        return None
    if scheme == "afterany":
        return True
    return target.ran and target.completed == (scheme == "afterok")


def _verdicts(jobs: dict[int, Job], spec: dict[str, Any]) -> list[bool | None]:
    return [_verdict(jobs[int(each["value"])], each["scheme"]) for each in _dependencies(spec)]


def completions(instance: Instance) -> dict[str, int]:
    """How often each command completed."""
    counted: dict[str, int] = {}
    for job in instance.jobs.values():
        name = job.spec["name"]
        counted[name] = counted.get(name, 0) + (job.completed)
    return counted


def _dependencies(spec: dict[str, Any]) -> list[dict[str, str]]:
    return spec["attributes"]["system"].get("dependencies", [])


def spec(name: str, *dependencies: tuple[str, int]) -> dict[str, Any]:
    wanted = [{"scheme": scheme, "value": str(target)} for scheme, target in dependencies]
    return {"name": name, "attributes": {"system": {"dependencies": wanted} if wanted else {}}}


def busy() -> Instance:
    """Two jobs that run, and what waits for them, in chains and for both."""
    instance = Instance()
    for name in ("first", "second"):
        instance.run(instance.add(spec(name)))
    instance.add(spec("after-first", ("afterok", 1)), urgency=20)
    instance.add(spec("after-that", ("afterok", 3)))
    instance.add(spec("after-both", ("afterany", 1), ("afterok", 2)))
    instance.add(spec("any", ("afterany", 2)))
    instance.add(spec("free"))
    return instance


ONCE = dict.fromkeys(("first", "second", "after-first", "after-that", "after-both", "any", "free"), 1)


def test_copies_run_instead_of_the_old_ones() -> None:
    """And what waited waits for them."""
    instance = busy()
    outcome = restarts.restart(instance, [1, 2], "saved")
    assert [old for old, _ in outcome.restarted] == [1, 2, 3, 4, 5, 6]
    instance.run_all()
    assert (completions(instance), outcome.lost) == (ONCE, [])


def test_copy_names_its_original() -> None:
    """What else was among its attributes stays."""
    instance = Instance()
    marked = {"name": "a", "attributes": {"system": {}, "user": {"x": 1, "minicluster": {"main": True}}}}
    instance.run(instance.add(marked))
    ((_, new),) = restarts.restart(instance, [1], "saved").restarted
    user = instance.jobs[new].spec["attributes"]["user"]
    assert user == {"x": 1, "minicluster": {"main": True, "restart_of": 1}}


def test_copies_are_reported_before_an_old_one_is_canceled() -> None:
    """Whoever ordered them is cut off at the first of these, and can name them all the same."""
    instance = busy()
    instance.cut_after = 6
    known: dict[int, int] = {}
    with pytest.raises(Cut):
        restarts.restart(instance, [1, 2], "saved", known.update)
    assert sorted(known) == [1, 2, 3, 4, 5, 6]
    assert {instance.jobs[old].note for old in known} == {""}


def test_copy_keeps_the_urgency() -> None:
    """Also that of what waits."""
    instance = busy()
    new = dict(restarts.restart(instance, [1], "saved").restarted)[3]
    assert instance.jobs[new].urgency == 20


def test_cancelled_job_reports_why() -> None:
    """By the reason, and its new id."""
    instance = busy()
    restarts.restart(instance, [1], "its broker leaves")
    assert instance.jobs[1].note.startswith("its broker leaves: it is started again as ƒ")
    assert instance.jobs[3].note.startswith("what it waits for is started again: it is started again as ƒ")


def test_only_what_depends_on_a_restarted_job_moves() -> None:
    """Waiting jobs keep their ids."""
    instance = busy()
    assert [old for old, _ in restarts.restart(instance, [2], "saved").restarted] == [2, 5, 6]


def test_restarted_job_is_restarted_again() -> None:
    """Its copy has nothing to wait for but its own original."""
    instance = Instance()
    instance.run(instance.add(spec("a")))
    for old in (1, 2, 3):
        restarts.restart(instance, [old], "saved")
        instance.run(old + 1)
    instance.finish(4)
    assert completions(instance) == {"a": 1}


def test_job_that_ended_meanwhile_is_left_alone() -> None:
    """Nothing is copied."""
    instance = busy()
    instance.finish(1)
    assert restarts.restart(instance, [1], "saved") == ([], [])


def test_job_that_finishes_while_it_is_restarted_keeps_its_result() -> None:
    """What depends on it gets that."""
    instance = busy()

    def finish_first() -> None:
        if instance.jobs[1].state == RUN:
            instance.finish(1)

    instance.meanwhile = finish_first
    outcome = restarts.restart(instance, [1, 2], "saved")
    assert 1 not in dict(outcome.restarted)
    instance.run_all()
    assert completions(instance) == ONCE


def test_job_that_cannot_be_copied_is_lost() -> None:
    """It runs on as long as it can."""
    instance = busy()
    instance.refuses = lambda jobspec: jobspec["name"] == "first"
    outcome = restarts.restart(instance, [1, 2], "saved")
    assert outcome.lost == [(1, "it does not fit")]
    assert instance.jobs[1].state == RUN


@pytest.mark.parametrize("steps", range(12))
def test_cut_off_anywhere_and_done_again(steps: int) -> None:
    """The second time ends it: nothing is lost or runs twice."""
    instance = busy()
    instance.cut_after = steps
    with pytest.raises(Cut):
        restarts.restart(instance, [1, 2], "saved")
    instance.cut_after = -1
    restarts.reconcile(instance)
    restarts.restart(instance, [1, 2], "saved")
    instance.run_all()
    assert completions(instance) == ONCE


@pytest.mark.parametrize("steps", range(12))
def test_cut_off_anywhere_and_the_jobs_finish_after_all(steps: int) -> None:
    """Whoever was restarting does not come back; each job completed, or its copy does."""
    instance = busy()
    instance.cut_after = steps
    with pytest.raises(Cut):
        restarts.restart(instance, [1, 2], "saved")
    instance.cut_after = -1
    for job in (1, 2):
        if instance.jobs[job].state == RUN:
            instance.finish(job)
    restarts.reconcile(instance)
    instance.run_all()
    ledger = completions(instance)
    assert {name: ledger[name] for name in ("first", "second", "free")} == dict.fromkeys(
        ("first", "second", "free"), 1
    )
    assert max(ledger.values()) == 1


@pytest.mark.parametrize("steps", range(12))
def test_cut_off_anywhere_with_the_lead(steps: int) -> None:
    """The running jobs died with it: reported as failed, or their copies run; nothing runs twice."""
    instance = busy()
    instance.cut_after = steps
    with pytest.raises(Cut):
        restarts.restart(instance, [1, 2], "saved")
    instance.cut_after = -1
    copied = {restarts.original(job.spec) for job in instance.jobs.values()}
    for job in (1, 2):
        if instance.jobs[job].state == RUN:
            instance.cancel(job, "lead broker restarted")
    restarts.reconcile(instance)
    instance.run_all()
    ledger = completions(instance)
    for job, name in ((1, "first"), (2, "second")):
        assert ledger[name] == (job in copied)
    assert max(ledger.values()) == 1


def test_companions_are_not_started_again() -> None:
    """They end with their base job; its copy gets companions of its own."""
    instance = Instance()
    base = instance.add(spec("base"))
    companion = spec("companion")
    companion["attributes"]["user"] = {"companion_of": "ƒ1", "task": 1}
    beside = instance.add(companion)
    for job in (base, beside):
        instance.run(job)
    outcome = restarts.restart(instance, [base, beside], "saved")
    assert (outcome.restarted, outcome.lost) == ([(base, 3)], [])
    assert instance.jobs[beside].state == RUN
