"""From an instance's jobs to records, and to what they used."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as some

from minicluster.database.ids import UlidFactory
from minicluster.instance.records import Job, JobException, JobResult, JobState
from restful.clusters.projection import (
    END_SECONDS,
    MAX_CORES,
    Charging,
    Owned,
    by_day,
    charges,
    lost,
    new_record,
    projected,
)
from restful.store.usage import DAY

if TYPE_CHECKING:
    from restful.store.jobs import JobRecord
    from restful.store.usage import Charge

NEW = new_record("C", "I", 7, Owned("alice", "R"))
SHARED = Charging(now=1e10)
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
        record, found = charges(record, projected(record, job), at, SHARED)
        total += sum(each.node_seconds for each in found)
    assert math.isclose(total, expected, rel_tol=1e-6)
    assert charges(record, projected(record, jobs[-1][1]), now, SHARED)[1] == []


def test_a_job_of_nobody_is_not_charged() -> None:
    nobodys = new_record("C", "I", 7, Owned())
    assert charges(nobodys, projected(nobodys, ENDED), 21.0, SHARED)[1] == []


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
    assert [each.node_seconds for each in charges(before, found, 30.0, SHARED)[1]] == [40.0]


NOW = 1_800_000_000.0
HOUR = 3600.0
MINE = Charging(NOW, owner="mallory")
RESERVED = new_record("C", "I", 7, Owned("alice", UlidFactory().new(NOW - 2 * HOUR)), nodes=2, seconds=HOUR)
"""Alice's job at mallory's cluster: 2 nodes for an hour, asked for two hours ago."""
DONE = replace(
    ENDED, t_submit=NOW - 2 * HOUR, t_run=NOW - 2 * HOUR, t_cleanup=NOW - HOUR, t_inactive=NOW - HOUR
)
"""What her job did."""
GREATEST = 2 * (HOUR + END_SECONDS)
"""Node-seconds."""
ABSURD = {
    "many nodes": replace(DONE, nnodes=10**30, ncores=10**30),
    "fewer than none": replace(DONE, nnodes=-5, ncores=-5),
    "a long time ago": replace(DONE, t_run=1.0),
    "before 1970": replace(DONE, t_run=-1e9, t_submit=-1e9),
    "in times to come": replace(DONE, t_cleanup=1e11, t_inactive=1e11),
    "no number": replace(DONE, t_run=math.nan, t_cleanup=math.nan, duration=math.nan),
    "without an end": replace(DONE, t_cleanup=math.inf, t_inactive=math.inf),
    "a longer limit": replace(DONE, duration=1e11, t_run=1.0),
}


def _used(job: Job, before: JobRecord = RESERVED, charging: Charging = MINE) -> list[Charge]:
    own = charging.owner is not None
    return charges(before, projected(before, job, own=own), NOW, charging)[1]


@pytest.mark.parametrize("job", ABSURD.values(), ids=ABSURD)
def test_what_somebody_s_own_instance_reports_charges_no_more_than_was_reserved(job: Job) -> None:
    found = _used(job)
    assert {each.user for each in found} <= {"alice"}
    assert all(each.node_seconds >= 0 and each.core_seconds >= 0 for each in found)
    assert sum(each.node_seconds for each in found) <= GREATEST
    assert all(each.day <= (NOW + HOUR) // DAY for each in found)


@pytest.mark.parametrize("job", ABSURD.values(), ids=ABSURD)
def test_what_a_shared_instance_reports_charges_since_the_request_until_now(job: Job) -> None:
    size = projected(RESERVED, job).nnodes
    found = _used(job, charging=Charging(NOW))
    assert all(each.node_seconds >= 0 for each in found)
    assert sum(each.node_seconds for each in found) <= size * 4 * HOUR + 1e-3


def test_a_job_is_charged_what_it_used() -> None:
    assert sum(each.node_seconds for each in _used(DONE)) == pytest.approx(2 * HOUR)


def test_a_job_is_charged_though_the_service_s_clock_was_put_back() -> None:
    """Ids of requests only ascend: those of the hours that come again are of times to come."""
    later = replace(RESERVED, request=UlidFactory().new(NOW + 30 * DAY))
    assert sum(each.node_seconds for each in _used(DONE, later)) == pytest.approx(2 * HOUR)


def test_a_job_at_somebody_s_own_cluster_is_charged_once_however_often_it_ends() -> None:
    record, total = RESERVED, 0.0
    for number in range(5):
        later = NOW + number * DAY
        job = replace(DONE, t_run=later - HOUR, t_cleanup=later, t_inactive=later, nnodes=1 + number)
        after = projected(record, job, own=True)
        record, found = charges(record, after, later, Charging(later, "mallory"))
        total += sum(each.node_seconds for each in found)
    assert total <= GREATEST


@pytest.mark.parametrize(("owner", "charged"), [("alice", False), ("mallory", True)])
def test_restarts_at_somebody_s_own_cluster_are_charged_to_him_alone(owner: str, charged: bool) -> None:
    restart = replace(RESERVED, owner=owner, restart_of=6)
    assert bool(_used(DONE, restart)) is charged


def test_an_instance_of_somebody_s_own_reserves_no_more_for_others() -> None:
    """Nodes and time limits of what has not ended count in quotas of all clusters together."""
    reported = replace(RUNNING, nnodes=2**31, ncores=2**31, duration=1e10)
    found = projected(RESERVED, reported, own=True)
    assert (found.nnodes, found.duration, found.ncores) == (2, HOUR, 2 * MAX_CORES)
