"""Quotas in arithmetic: what fits, what does not, and in which words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from restful.errors import HttpProblem
from restful.jobs import quota
from restful.jobs.quota import Quota, Reservation, Use

RESERVATIONS = some.builds(Reservation, some.integers(1, 50), some.sampled_from([0.0, 1.0, 60.0, 3600.0]))
LIMITS = some.builds(
    Quota,
    some.none() | some.integers(0, 20),
    some.none() | some.integers(0, 20),
    some.none() | some.integers(0, 200),
    some.none() | some.floats(0, 1e6),
)


@given(LIMITS, some.lists(RESERVATIONS, max_size=30))
def test_what_was_admitted_is_within_the_quota(limits: Quota, asked: list[Reservation]) -> None:
    use = Use()
    for each in asked:
        if not quota.excess(limits, use, each):
            use = use.plus(each)
    assert limits.jobs is None or use.jobs <= limits.jobs
    assert limits.queued_jobs is None or use.queued <= limits.queued_jobs
    assert limits.nodes is None or use.nodes <= limits.nodes
    assert limits.node_seconds is None or use.committed <= limits.node_seconds


@given(LIMITS, some.lists(RESERVATIONS, max_size=10), RESERVATIONS)
def test_a_larger_use_never_admits_more(limits: Quota, had: list[Reservation], job: Reservation) -> None:
    use = Use()
    refused = False
    for each in [*had, job]:
        now = bool(quota.excess(limits, use, job))
        assert now or not refused
        refused, use = now, use.plus(each)


REFUSALS = {
    "jobs": (Quota(jobs=2), Use(jobs=2), Reservation(1, 60), "quota of 2 jobs at a time: 2 have not ended"),
    "queued jobs": (
        Quota(queued_jobs=5), Use(jobs=9, queued=5), Reservation(1, 60),
        "quota of 5 queued jobs: 5 have not begun; wait for one, or cancel one",
    ),
    "nodes": (Quota(nodes=8), Use(nodes=6), Reservation(3, 60), "your jobs have 6, and this one asks for 3"),
    "node-hours": (
        Quota(node_seconds=36_000.0), Use(committed=18_000.0, spent=3_600.0), Reservation(2, 9_000),
        "quota of 10 node-hours in 30 days: 4 are left, and this job may use 5",
    ),
    "many node-hours": (
        Quota(node_seconds=36_000_000.0, window=86_400.0), Use(spent=36_000_000.0), Reservation(2, 9_000),
        "quota of 10000 node-hours in a day: 0 are left, and this job may use 5",
    ),
    "no limit": (Quota(node_seconds=1.0), Use(), Reservation(1, 0.0), "give a time_limit"),
    "an endless job": (
        Quota(node_seconds=3600.0), Use(committed=math.inf), Reservation(1, 60.0), "0 are left"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("limits", "use", "job", "words"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_names_the_quota(limits: Quota, use: Use, job: Reservation, words: str) -> None:
    with pytest.raises(HttpProblem) as raised:
        quota.check(limits, use, [job])
    assert raised.value.status == 403
    assert words in raised.value.detail
