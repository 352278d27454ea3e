"""What is planned, for whom, at what cost, and what the user of each other job reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burst.planning import money
from burst.planning.hooks import PlanHooks
from burst.planning.plan import NEXT, NO_BURST, NO_OFFER, NO_SLOT, digest, plan
from burst.planning.records import (
    Budget,
    BurstPlan,
    BurstPlanRequest,
    BurstSelection,
    BurstSlot,
    Durations,
    NodeShape,
    Offer,
)
from burst.planning.selection import is_burstable
from tests.burst.planning.plan_requests import EURO, NOW, OFFER, SLOT, job, request


def reason(found: BurstPlan, number: int = 1) -> str:
    return dict(found.left_out)[number]


def test_jobs_get_one_burst_of_the_fewest_nodes_that_are_in_time() -> None:
    [burst] = plan(request(*(job(number, 2) for number in range(4)))).bursts
    assert burst.jobs == (0, 1, 2, 3)
    assert burst.nodes == 2  # four hours, one after the other
    assert burst.seconds == 600 + 300 + 4 * 3600 + 300 + 300
    assert burst.worst == money.cost(EURO, 2, burst.seconds)
    assert burst.likely == money.cost(EURO, 2, 120 + 4 * 3600)


def test_less_time_takes_more_nodes() -> None:
    jobs = [job(number, 2) for number in range(4)]
    [burst] = plan(request(*jobs, durations=Durations(window=3600.0))).bursts
    assert burst.nodes == 8


@pytest.mark.parametrize(
    ("wish", "burstable"),
    [
        *((True, True), (1, True), ("near", True)),
        *((False, False), (0, False), (None, False), (1.0, False), (2, False), ("", False), ({}, False)),
    ],
)
def test_who_asks_for_it(wish: Any, burstable: bool) -> None:
    assert is_burstable(job(1, wish=wish)) is burstable
    assert len(plan(request(job(1, wish=wish))).bursts) == burstable
    assert plan(request(job(1, wish=wish))).left_out == ()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"priority": 0}, "it is on hold (urgency 0)"),
        ({"depends": True}, "it depends on other jobs, or on a time"),
        ({"constrained": True}, "it has constraints of its own, so that its queue cannot be changed"),
        ({"user": "bob"}, "select.users does not have bob"),
        ({"limit": 0.0}, "it has no time limit, and select.assumeSeconds is not set: its cost has no bound"),
        ({"submitted": NOW - 60}, "it can run here, and has waited 1m of 10m"),
        ({"submitted": NOW + 60}, "it can run here, and has waited 0s of 10m"),
        ({"wish": "far"}, "it asks for provider far, which is not there"),
        ({"limit": 18_000.0}, "its time limit of 5h is more than the 4h that a burst may take"),
        ({"nodes": 9}, "it needs 9 nodes, and slot burst-0 has 8 of near"),
    ],
)
def test_a_job_that_is_left_out_has_its_reason(changes: dict[str, Any], text: str) -> None:
    nodes = changes.pop("nodes", 1)
    found = plan(request(job(1, nodes, **changes), selection=BurstSelection(users=frozenset({"alice"}))))
    assert found.bursts == ()
    assert reason(found) == text


def test_which_jobs_are_selected_is_up_to_the_document() -> None:
    never = job(1, fits_here=False, submitted=NOW)
    assert plan(request(never)).bursts[0].jobs == (1,)
    text = "it can never run here, and select.neverFits is false"
    assert reason(plan(request(never, selection=BurstSelection(never_fits=False)))) == text
    text = "it can run here, and select.waiting is false"
    assert reason(plan(request(job(1), selection=BurstSelection(after=None)))) == text
    [burst] = plan(request(job(1, limit=0.0), selection=BurstSelection(assume=7200.0))).bursts
    assert burst.likely == money.cost(EURO, 1, 120 + 7200)


def test_a_shape_that_nobody_sells_is_named() -> None:
    gpu = request(job(1), slots=(BurstSlot("burst-0", 8, NodeShape(8, 2)),))
    assert reason(plan(gpu)) == "near has no machine for nodes of 8 cores and 2 GPUs"
    assert reason(plan(request(job(1), offers=()))) == "no provider has machines"
    wide = job(1)._replace(request=job(1).request._replace(slots=1, cores=9, exclusive=False))
    assert reason(plan(request(wide))) == "it does not fit on nodes of 8 cores and 0 GPUs"


def test_without_a_slot_all_wait() -> None:
    assert reason(plan(request(job(1), slots=()))) == NO_SLOT


def test_what_has_no_room_is_planned_next() -> None:
    found = plan(request(job(1, 8), job(2, 8), durations=Durations(window=3600.0)))
    assert [burst.jobs for burst in found.bursts] == [(1,)]
    assert reason(found, 2) == NEXT


def test_a_second_slot_takes_the_rest() -> None:
    slots = (SLOT, SLOT._replace(name="burst-1"))
    found = plan(request(job(1, 8), job(2, 8), slots=slots, durations=Durations(window=3600.0)))
    assert [(burst.slot, burst.jobs) for burst in found.bursts] == [("burst-0", (1,)), ("burst-1", (2,))]


def test_a_slot_that_is_too_small_is_left_to_smaller_jobs() -> None:
    small = BurstSlot("small", 2, NodeShape(8))
    found = plan(request(job(1, 4), job(2, 1), slots=(small, SLOT)))
    assert [(burst.slot, burst.jobs) for burst in found.bursts] == [("small", (2,)), ("burst-0", (1,))]


def test_the_first_in_order_comes_first() -> None:
    jobs = (job(1, 8), job(2, 8, priority=20), job(3, 8, submitted=NOW - 9000))
    found = plan(request(*jobs, durations=Durations(window=7200.0)))
    assert found.bursts[0].jobs == (2, 3)


def test_the_cheapest_machine_is_chosen_and_a_named_provider_alone() -> None:
    dear, cheap = (
        OFFER._replace(provider="far", price=3 * EURO),
        OFFER._replace(machine="c9", price=EURO // 2),
    )
    offers = (OFFER, dear, cheap)
    assert plan(request(job(1), offers=offers)).bursts[0].machine == "c9"
    [burst] = plan(request(job(1, wish="far"), job(2, wish="near"), offers=offers)).bursts
    assert (burst.provider, burst.jobs) == ("far", (1,))


def test_of_equal_prices_the_quicker_one_is_chosen() -> None:
    quick = OFFER._replace(machine="z", ready=10.0)
    assert plan(request(job(1), offers=(OFFER, quick))).bursts[0].machine == "z"


@pytest.mark.parametrize("scope", ["all", "cluster:mc", "cluster:physics/mc", "provider:near"])
def test_a_budget_is_never_exceeded(scope: str) -> None:
    budget = Budget(scope, 5 * EURO, 4 * EURO)
    found = plan(request(job(1), budgets=(budget,)))
    assert found.bursts == ()
    assert reason(found) == f"budget {scope}: its burst may cost 1.416667, and 1.00 is left"
    assert plan(request(job(1), budgets=(Budget("provider:far", 0),))).bursts != ()


def test_as_many_jobs_burst_as_there_is_money_for() -> None:
    jobs = [job(number) for number in range(4)]
    found = plan(request(*jobs, budgets=(Budget("all", 3 * EURO),)))
    assert found.bursts[0].jobs == (0, 1)
    assert found.worst <= 3 * EURO
    assert reason(found, 2) == NEXT


def test_the_bursts_of_one_plan_have_one_budget() -> None:
    slots = (SLOT, SLOT._replace(name="burst-1"))
    jobs = (job(1, 8), job(2, 8))
    given = {"slots": slots, "durations": Durations(window=3600.0)}
    both = plan(request(*jobs, **given)).worst
    found = plan(request(*jobs, **given, budgets=(Budget("all", both - 1),)))
    assert [burst.jobs for burst in found.bursts] == [(1,)]
    assert "budget all" in reason(found, 2)


def test_each_user_pays_for_his_own_jobs() -> None:
    jobs = (job(1, 3), job(2, 1, user="bob"))
    [burst] = plan(request(*jobs)).bursts
    assert burst.portions == money.portions(burst.worst, {"alice": 3, "bob": 1})
    found = plan(request(*jobs, per_user=EURO * 5, spent={"bob": EURO * 4}))
    assert found.bursts[0].jobs == (1,)
    found = plan(request(jobs[1], per_user=EURO * 5, spent={"bob": EURO * 4}))
    assert reason(found, 2) == "budget user:bob: its burst may cost 1.416667, and 1.00 is left"


def test_a_user_has_one_budget_in_all_bursts_of_a_plan() -> None:
    slots = (SLOT, SLOT._replace(name="burst-1"))
    jobs = (job(1, 8), job(2, 8))
    found = plan(request(*jobs, slots=slots, durations=Durations(window=3600.0), per_user=12 * EURO))
    assert [burst.jobs for burst in found.bursts] == [(1,)]


def test_a_plan_is_known_by_its_bursts() -> None:
    one = plan(request(job(1)))
    assert digest(one) == digest(plan(request(job(1), job(2, priority=0))))
    assert digest(one) != digest(plan(request(job(1), job(2))))


JOBS = st.lists(
    st.builds(
        job,
        st.integers(0, 99),
        st.integers(1, 10),
        user=st.sampled_from(("alice", "bob")),
        limit=st.sampled_from((0.0, 600.0, 3600.0, 20_000.0)),
        priority=st.integers(0, 3),
        wish=st.sampled_from((True, "near", "far", False)),
        fits_here=st.booleans(),
    ),
    max_size=10,
    unique_by=lambda each: each.id,
)


@given(JOBS, st.integers(0, 40), st.integers(0, 3), st.integers(1, 4))
def test_whatever_waits_a_plan_keeps_its_promises(
    jobs: list[Any], euros: int, slots: int, hours: int
) -> None:
    """Each job once at most, none without an answer, no budget exceeded, every job in time."""
    asked = request(
        *jobs,
        slots=tuple(SLOT._replace(name=f"burst-{number}", size=8 >> number) for number in range(slots)),
        offers=(OFFER, OFFER._replace(provider="far", machine="f", price=EURO // 3, most=3)),
        durations=Durations(window=3600.0 * hours),
        budgets=(Budget("all", euros * EURO), Budget("provider:near", 9 * EURO)),
        per_user=11 * EURO,
    )
    found = plan(asked)
    planned = [number for burst in found.bursts for number in burst.jobs]
    answered = planned + [each.job for each in found.left_out]
    assert sorted(answered) == sorted(each.id for each in jobs if is_burstable(each))
    assert all(each.reason for each in found.left_out)
    assert found.worst <= euros * EURO
    assert sum(burst.worst for burst in found.bursts if burst.provider == "near") <= 9 * EURO
    for user in ("alice", "bob"):
        assert sum(burst.portions.get(user, 0) for burst in found.bursts) <= 11 * EURO
    _check_shapes(found, asked)
    assert plan(replace(asked)) == found


def _check_shapes(found: BurstPlan, asked: BurstPlanRequest) -> None:
    sizes = {slot.name: slot.size for slot in asked.slots}
    offers: dict[str, Offer] = {offer.provider: offer for offer in asked.offers}
    assert len({burst.slot for burst in found.bursts}) == len(found.bursts)
    for burst in found.bursts:
        assert burst.likely <= burst.worst
        assert burst.nodes <= min(sizes[burst.slot], offers[burst.provider].most)
        for number in burst.jobs:
            [one] = [each for each in asked.jobs if each.id == number]
            assert one.wish in (True, burst.provider)
            assert one.request.nodes <= burst.nodes


def test_a_minicluster_has_no_more_nodes_than_it_may() -> None:
    two = BurstSlot("burst-1", 8, NodeShape(8))
    found = plan(request(job(1, 3), job(2, 3), job(3, 2), slots=(SLOT, two), nodes_left=5, bursts_left=2))
    assert sum(each.nodes for each in found.bursts) <= 5
    assert reason(plan(request(job(1, 3), nodes_left=2))) == (
        "it needs 3 nodes, and the MiniCluster may have 2 more (bursting.maxNodes)"
    )


def test_a_minicluster_has_no_more_bursts_than_it_may() -> None:
    found = plan(request(job(1), bursts_left=0))
    assert (found.bursts, reason(found)) == ((), NO_BURST)
    assert len(plan(request(job(1), bursts_left=1)).bursts) == 1


def test_why_providers_have_no_offers_is_what_a_user_reads() -> None:
    found = plan(request(job(1), offers=(), resting=("near: bursts failed there once",)))
    assert reason(found) == "near: bursts failed there once"
    assert reason(plan(request(job(1), offers=()))) == NO_OFFER


def test_a_selector_decides_of_jobs_that_could_burst_and_of_no_others() -> None:
    jobs = (job(1), job(2, priority=0), job(3, wish=None), job(4, submitted=NOW))
    hooks = PlanHooks(selector=lambda each, _selection, _now: "it is odd" if each.id % 2 else "")
    found = plan(request(*jobs), hooks)
    assert [each.jobs for each in found.bursts] == [(4,)]
    assert dict(found.left_out) == {1: "it is odd", 2: "it is on hold (urgency 0)"}


def test_jobs_are_planned_by_rank_and_equal_ones_by_priority() -> None:
    slots = tuple(SLOT._replace(name=f"burst-{number}") for number in range(3))
    jobs = (job(1, 8, priority=31), job(2, 8), job(3, 8, priority=20))
    hooks = PlanHooks(rank=lambda each: {1: 7.0}.get(each.id, 1.0))
    short = Durations(window=3600.0)
    found = plan(request(*jobs, slots=slots, durations=short), hooks)
    assert [each.jobs for each in found.bursts] == [(3,), (2,), (1,)]
    assert [each.jobs for each in plan(request(*jobs, slots=slots, durations=short)).bursts] == [
        (1,),
        (3,),
        (2,),
    ]


def test_what_takes_longer_to_be_made_is_reserved_for_so_long() -> None:
    """As a cluster does that is made for the burst, which has its fee all the time."""
    [usual] = plan(request(job(1))).bursts
    [slow] = plan(request(job(1), offers=(OFFER._replace(provisioning=1800.0, fee=EURO),))).bursts
    assert (slow.until - usual.until, slow.seconds - usual.seconds) == (1200.0, 1200.0)
    assert slow.worst == 2 * money.cost(EURO, 1, slow.seconds)
