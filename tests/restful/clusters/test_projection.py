"""From an instance's jobs to records, and to what they used."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as some

from minicluster.instance.records import Job, JobException, JobResult, JobState
from restful.clusters.projection import Owned, by_day, charges, lost, new_record, projected
from restful.store.usage import DAY

if TYPE_CHECKING:
    from restful.store.jobs import JobRecord

NEW = new_record("C", "I", 7, Owned("alice", "R"))
RUNNING = Job(7, JobState.RUN, t_submit=1.0, t_run=10.0, nnodes=2, ncores=4)
ENDED = replace(
    RUNNING,
    state=JobState.INACTIVE,
    result=JobResult.COMPLETED,
    t_cleanup=20.0,
    t_inactive=21.0,
    waitstatus=0,
)


@given(some.floats(0, 1e10), some.floats(0, 1e6))
def test_the_days_of_a_time_add_up_to_it(begin: float, length: float) -> None:
    found = list(by_day(begin, begin + length))
    assert math.isclose(sum(seconds for _, seconds in found), begin + length - begin, abs_tol=1e-3)
    assert all(0 < seconds <= DAY for _, seconds in found)
    days = [day for day, _ in found]
    assert days == sorted(set(days))


SIZES = some.lists(some.tuples(some.floats(0.1, 1e5), some.integers(1, 9)), min_size=1, max_size=6)


@given(SIZES, some.lists(some.integers(0, 6), max_size=6))
def test_each_second_is_charged_once_at_the_size_of_its_time(
    sizes: list[tuple[float, int]], repeated: list[int]
) -> None:
    """Whatever part of the journal is read again: `repeated` are changes that come twice."""
    now, jobs, expected = 100.0, list[tuple[float, Job]](), 0.0
    for number, (length, nodes) in enumerate(sizes):
        job = replace(RUNNING, t_run=100.0, nnodes=nodes)
        jobs += [(now, job)] * (2 if number in repeated else 1)
        now, expected = now + length, expected + length * nodes
    jobs.append((now, replace(ENDED, t_run=100.0, nnodes=sizes[-1][1], t_cleanup=now, t_inactive=now)))
    record, total = NEW, 0.0
    for at, job in jobs:
        record, found = charges(record, projected(record, job), at)
        total += sum(each.node_seconds for each in found)
    assert math.isclose(total, expected, rel_tol=1e-6)
    assert charges(record, projected(record, jobs[-1][1]), now)[1] == []


def test_a_job_of_nobody_is_not_charged() -> None:
    nobodys = new_record("C", "I", 7, Owned())
    assert charges(nobodys, projected(nobodys, ENDED), 21.0)[1] == []


def test_a_job_keeps_what_the_instance_does_not_report() -> None:
    before = replace(NEW, bank="b", nnodes=3, name="n", queue="q", duration=60.0)
    found = projected(before, Job(7, JobState.SCHED, t_submit=1.0))
    assert (found.owner, found.request, found.bank) == ("alice", "R", "b")
    assert (found.nnodes, found.name, found.queue, found.duration) == (3, "n", "q", 60.0)


STATES = {
    "waits": (Job(7, JobState.SCHED), JobState.SCHED, None),
    "runs": (RUNNING, JobState.RUN, None),
    "ended": (ENDED, JobState.INACTIVE, JobResult.COMPLETED),
    "ended without a result": (Job(7, JobState.INACTIVE), JobState.INACTIVE, None),
}


@pytest.mark.parametrize(("job", "state", "result"), STATES.values(), ids=STATES)
def test_a_status_has_state_and_result(job: Job, state: JobState, result: JobResult | None) -> None:
    found = projected(NEW, job)
    assert (found.state, found.result, found.active) == (state, result, state != JobState.INACTIVE)


HOSTILE = {
    "NUL": (replace(RUNNING, name="a\0b"), "a\ufffdb"),
    "a surrogate": (replace(RUNNING, name="a\udcff"), "a?"),
    "long": (replace(RUNNING, name="x" * 100_000), "x" * 4096),
}


@pytest.mark.parametrize(("job", "name"), HOSTILE.values(), ids=HOSTILE)
def test_a_name_is_stored_as_a_database_takes_it(job: Job, name: str) -> None:
    assert projected(NEW, job).name == name


@pytest.mark.parametrize("value", [float("nan"), "x" * 20_000], ids=["no number", "long"])
def test_annotations_that_cannot_be_stored_are_left_out(value: object) -> None:
    assert projected(NEW, replace(RUNNING, annotations={"user": value})).annotations == "{}"


def test_a_job_that_went_with_its_instance_has_failed() -> None:
    before: JobRecord = projected(NEW, replace(RUNNING, exception=JobException("note", 7, "x")))
    found = lost(before, 30.0)
    assert (found.result, found.exception_type, found.t_inactive) == (JobResult.FAILED, "lost", 30.0)
    assert [each.node_seconds for each in charges(before, found, 30.0)[1]] == [40.0]
