"""Which jobs count as lost with a node, and what becomes of them and of what waited for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from minicluster.save_restore.errors import JobRefused
from minicluster.save_restore.losses import MARGIN, FailedJob, Loss, restart_lost
from minicluster.save_restore.restarts import original

NEVER = 1e9
LOST = "node failure on mc-1 (rank 1)"


@dataclass
class Instance:
    """Jobs by id: when each was submitted, its jobspec, its end where that was an exception."""

    specs: dict[int, dict[str, Any]] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)
    ends: dict[int, FailedJob] = field(default_factory=dict)
    urgencies: dict[int, int] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    now: float = 0.0

    def add(self, name: str, *after: tuple[str, int], user: Any = None) -> int:
        dependencies = [{"scheme": scheme, "value": str(target)} for scheme, target in after]
        system = {"dependencies": dependencies} if dependencies else {}
        return self.submit({"name": name, "attributes": {"system": system, "user": user}}, 16)

    def end(self, jobid: int, note: str, exception: str = "exec", urgency: int = 16, rank: int = 1) -> None:
        self.ends[jobid] = FailedJob(jobid, urgency, self.now, exception, note, frozenset({rank}))

    def failed(self, since: float) -> list[FailedJob]:
        latest_first = sorted(self.ends.values(), key=lambda job: -job.time)
        return [job for job in latest_first if job.time > since]

    def submitted(self, since: float) -> list[int]:
        return [jobid for jobid, time in self.times.items() if time > since]

    def jobspec(self, jobid: int) -> dict[str, Any]:
        return self.specs[jobid]

    def submit(self, jobspec: dict[str, Any], urgency: int) -> int:
        if jobspec["name"] in self.refused:
            raise JobRefused("it does not fit")
        jobid = len(self.specs) + 1
        self.specs[jobid], self.times[jobid], self.urgencies[jobid] = jobspec, self.now, urgency
        return jobid

    def waits_for(self, jobid: int) -> list[tuple[str, int]]:
        found = self.specs[jobid]["attributes"]["system"].get("dependencies", [])
        return [(each["scheme"], int(each["value"])) for each in found]


def test_a_lost_job_is_started_again_with_its_urgency_and_waits_for_nothing() -> None:
    jobs = Instance()
    first = jobs.add("first")
    hit = jobs.add("hit", ("afterok", first))
    jobs.now = 10.0
    jobs.end(hit, LOST, urgency=20)
    outcome = restart_lost(jobs, {1: Loss(5.0, NEVER)})
    assert (outcome.restarted, outcome.lost) == ([(hit, 3)], [])
    assert (original(jobs.specs[3]), jobs.waits_for(3), jobs.urgencies[3]) == (hit, [], 20)
    assert jobs.waits_for(hit) == [("afterok", first)]  # nothing was changed of it


def test_only_what_a_lost_broker_ended() -> None:
    """Not what failed by itself, ran elsewhere, or was lost with the pod before this one."""
    jobs = Instance()
    before, itself, elsewhere, canceled = (jobs.add(name) for name in "abcd")
    jobs.now = 4.0
    jobs.end(before, LOST)
    jobs.now = 10.0
    jobs.end(itself, "")
    jobs.end(elsewhere, "node failure on mc-2 (rank 2)")
    jobs.end(canceled, "no node failure", "cancel")
    assert restart_lost(jobs, {1: Loss(5.0, NEVER)}) == ([], [])
    assert restart_lost(jobs, {1: Loss(5.0, NEVER), 2: Loss(11.0, NEVER)}) == ([], [])
    assert restart_lost(jobs, {1: Loss(5.0, NEVER), 2: Loss(5.0, NEVER)}).restarted == [(elsewhere, 5)]


def test_where_a_broker_was_terminated_whatever_its_jobs_shells_then_lacked() -> None:
    """Not what was cancelled meanwhile, ran elsewhere, or had failed before."""
    jobs = Instance()
    before, hit, elsewhere, cancelled = (jobs.add(name) for name in "abcd")
    jobs.now = 6.0
    jobs.end(before, "no such file")
    jobs.now = 10.0
    jobs.end(hit, "flux_job_event_watch_get: Function not implemented")
    jobs.end(elsewhere, "no such file", rank=2)
    jobs.end(cancelled, "", "cancel")
    assert restart_lost(jobs, {1: Loss(5.0, 8.0)}).restarted == [(hit, 5)]


def test_what_could_not_start_thereby_is_started_as_well() -> None:
    jobs = Instance()
    hit = jobs.add("hit")
    other = jobs.add("other")
    waits = jobs.add("waits", ("afterok", hit), ("afterok", other))
    last = jobs.add("last", ("afterok", waits))
    unrelated = jobs.add("unrelated", ("afterok", other))
    jobs.now = 10.0
    jobs.end(hit, LOST)
    for job in (waits, last, unrelated):
        jobs.end(job, "dependency afterok=… can never be satisfied", "dependency")
    outcome = restart_lost(jobs, {1: Loss(5.0, NEVER)})
    assert outcome.restarted == [(hit, 6), (waits, 7), (last, 8)]
    assert jobs.waits_for(7) == [("afterok", 6), ("afterok", other)]
    assert jobs.waits_for(8) == [("afterok", 7)]


def test_each_gets_one_copy_however_often_it_is_asked_for() -> None:
    """Also one that was made while the job was dying, and after a copy was lost in turn."""
    jobs = Instance()
    hit = jobs.add("hit")
    jobs.now = 100.0
    jobs.end(hit, LOST)
    first = restart_lost(jobs, {1: Loss(5.0, NEVER)})
    assert restart_lost(jobs, {1: Loss(5.0, NEVER)}) == first == ([(hit, 2)], [])
    jobs.now = 200.0
    jobs.end(2, "node failure on mc-3 (rank 3)")
    again = restart_lost(jobs, {1: Loss(5.0, NEVER), 3: Loss(5.0, NEVER)})
    assert again.restarted == [(hit, 2), (2, 3)]
    early = Instance()
    hit = early.add("hit")
    early.now = 100.0
    copy = early.submit(
        {"name": "hit", "attributes": {"system": {}, "user": {"minicluster": {"restart_of": hit}}}}, 16
    )
    early.now += MARGIN - 1
    early.end(hit, LOST)
    assert restart_lost(early, {1: Loss(5.0, NEVER)}).restarted == [(hit, copy)]


def test_a_copy_that_fails_by_itself_stays_failed_and_so_does_what_waits_for_it() -> None:
    jobs = Instance()
    hit = jobs.add("hit")
    waits = jobs.add("waits", ("afterok", hit))
    jobs.now = 10.0
    jobs.end(hit, LOST)
    jobs.end(waits, "never", "dependency")
    known = restart_lost(jobs, {1: Loss(5.0, NEVER)})
    assert known.restarted == [(hit, 3), (waits, 4)]
    jobs.now = 20.0
    jobs.end(3, "")
    jobs.end(4, "never", "dependency")
    assert restart_lost(jobs, {1: Loss(5.0, NEVER)}) == known
    assert len(jobs.specs) == 4


def test_what_is_refused_is_reported() -> None:
    """The others are started again all the same."""
    jobs = Instance()
    large, small = jobs.add("large"), jobs.add("small")
    waits = jobs.add("waits", ("afterok", large))
    jobs.refused = ("large",)
    jobs.now = 10.0
    jobs.end(large, LOST)
    jobs.end(small, LOST)
    jobs.end(waits, "never", "dependency")
    assert restart_lost(jobs, {1: Loss(5.0, NEVER)}) == ([(small, 4)], [(large, "it does not fit")])


def test_a_job_that_may_run_once_only_is_reported_as_lost() -> None:
    """And what waits for it cannot start."""
    jobs = Instance()
    once = jobs.add("once", user={"minicluster": {"restart": False}})
    jobs.add("waits", ("afterok", once))
    jobs.now = 10.0
    jobs.end(once, LOST)
    jobs.end(2, "never", "dependency")
    outcome = restart_lost(jobs, {1: Loss(5.0, NEVER)})
    assert outcome == ([], [(once, "it is not to be started again")])


def test_a_companion_gets_no_copy() -> None:
    """Its base job, which ends with it, asks for others."""
    jobs = Instance()
    companion = jobs.add("companion", user={"companion_of": "ƒ8", "task": 1})
    jobs.now = 10.0
    jobs.end(companion, LOST)
    assert restart_lost(jobs, {1: Loss(5.0, NEVER)}) == ([], [])
