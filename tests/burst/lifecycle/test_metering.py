"""How many nodes were there, since when, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burst.lifecycle import metering, steps
from burst.lifecycle.machine import Life, next_step
from burst.lifecycle.metering import NodeCount
from burst.lifecycle.records import BurstObservation, ResourceKey, ResourceRecord, ResourceReport
from burst.lifecycle.records import ResourcePhase as Phase
from burst.lifecycle.states import BurstState, Timeouts
from tests.burst.lifecycle.test_machine import BURST

NOW = 10_000.0
NODES, PODS = ResourceKey("nodes", "mcb-a", 4), ResourceKey("pods", "mcb-a-pods")
HOURLY = replace(BURST, price=3_600_000, nodes=4)
"""A node costs a unit of money an hour: 1,000 micro-units a second."""


def made(key: ResourceKey, made_at: float | None = None, gone_at: float | None = None) -> ResourceRecord:
    return ResourceRecord("b", int(key is PODS), key, NOW - 50.0, made_at, gone_at)


def report(nodes: int | None, phase: Phase = Phase.READY, since: float = 0.0) -> ResourceReport:
    return ResourceReport(NODES, phase, since=since, nodes=nodes)


@pytest.mark.parametrize(
    ("counts", "made_at", "seen", "expected"),
    [
        pytest.param((), None, report(4, since=NOW - 9), NodeCount(NOW - 9, 4), id="since it was made"),
        pytest.param((), None, report(4, since=1.0), NodeCount(NOW - 50, 4), id="not before its intent"),
        pytest.param((), None, report(4, since=NOW + 9), NodeCount(NOW, 4), id="not later than now"),
        pytest.param((), None, report(4), NodeCount(NOW, 4), id="since it is seen"),
        pytest.param((), None, report(None), NodeCount(NOW, 4), id="all of its nodes"),
        pytest.param((), None, report(None, Phase.ABSENT), None, id="none of its nodes"),
        pytest.param((), None, report(0, since=NOW - 9), None, id="none has come"),
        pytest.param((), NOW - 9, report(2, since=NOW - 5), NodeCount(NOW - 5, 2), id="two are listed late"),
        pytest.param((), None, report(2, Phase.BROKEN, NOW - 9), NodeCount(NOW - 9, 2), id="part came"),
        pytest.param(((NOW - 9, 4),), NOW - 9, report(4), None, id="as before"),
        pytest.param(((NOW - 9, 4),), NOW - 9, report(3), NodeCount(NOW, 3), id="one is taken"),
        pytest.param(((NOW - 9, 4),), NOW - 9, report(4, Phase.GOING), None, id="it goes, and costs"),
        pytest.param(((NOW - 9, 4),), NOW - 9, report(0, Phase.GOING), NodeCount(NOW, 0), id="its pool goes"),
        pytest.param(((NOW - 9, 4),), NOW - 9, report(None, Phase.ABSENT), NodeCount(NOW, 0), id="gone"),
    ],
)
def test_what_is_seen_is_counted(
    counts: tuple[tuple[float, int], ...], made_at: float | None, seen: ResourceReport, expected: object
) -> None:
    known = [NodeCount(*each) for each in counts]
    observed = BurstObservation({NODES.name: seen})
    assert metering.change(known, [made(NODES, made_at)], observed, NOW) == expected


def test_what_is_not_known_is_not_counted() -> None:
    resources = [made(NODES), made(PODS)]
    seen = {NODES.name: report(4)}
    assert metering.change((), resources, BurstObservation(), NOW) is None
    assert metering.change((), resources, BurstObservation(seen), NOW) is None
    gone = [made(NODES, NOW - 9, NOW - 1), made(PODS, NOW - 9, NOW - 1)]
    assert metering.change([NodeCount(NOW - 9, 4)], gone, BurstObservation(), NOW) is None


def test_what_was_noted_as_gone_and_is_listed_was_there_all_the_time() -> None:
    gone = [made(NODES, NOW - 40, NOW - 10)]
    counts = [NodeCount(NOW - 40, 4), NodeCount(NOW - 10, 0)]
    lie = BurstObservation(listed=(report(4, since=NOW - 40),), is_listed=True)
    assert metering.change(counts, gone, lie, NOW) == NodeCount(NOW - 10, 4)
    late = BurstObservation(listed=(report(4, since=NOW - 3),), is_listed=True)
    assert metering.change(counts, gone, late, NOW) == NodeCount(NOW - 3, 4)
    empty = BurstObservation(is_listed=True)
    assert metering.change([*counts, NodeCount(NOW - 10, 4)], gone, empty, NOW) == NodeCount(NOW, 0)


def test_what_it_costs_is_written_before_anything_else() -> None:
    burst = replace(HOURLY, state=BurstState.PROVISIONING, stopping=True)
    observed = BurstObservation({NODES.name: report(2, Phase.BROKEN)})
    life = Life(burst, [made(NODES), made(PODS)], (), observed, NOW, Timeouts())
    assert metering.change((), [made(NODES)], observed, NOW) == NodeCount(NOW, 2)
    observed = replace(
        observed, resources={**observed.resources, PODS.name: ResourceReport(PODS, Phase.ABSENT)}
    )
    assert next_step(life._replace(observed=observed)) == steps.NoteNodes(NodeCount(NOW, 2))


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 9)), max_size=8))
def test_a_cost_is_the_sum_of_nodes_and_seconds(found: list[tuple[int, int]]) -> None:
    counts = [NodeCount(float(at), nodes) for at, nodes in sorted(found)]
    each_second = sum(
        one.nodes
        for one, other in pairwise([*counts, NodeCount(1000.0, 0)])
        for _ in range(int(one.at), int(other.at))
    )
    assert metering.cost(HOURLY, (), counts, 1000.0) == 1000 * each_second


@pytest.mark.parametrize(
    ("empty_since", "hours"), [pytest.param(None, 2, id="listed"), pytest.param(3600.0, 1, id="not listed")]
)
def test_a_fee_is_paid_until_nothing_is_listed(empty_since: float | None, hours: int) -> None:
    burst = replace(HOURLY, fee=100_000, empty_since=empty_since)
    resources = [ResourceRecord("b", 0, NODES, 0.0, 0.0, 600.0), ResourceRecord("b", 1, PODS)]
    counts = [NodeCount(0.0, 4), NodeCount(600.0, 0)]
    assert metering.cost(burst, resources, counts, 7200.0) == 4 * 600_000 + hours * 100_000


def test_a_fee_begins_with_the_first_resource() -> None:
    assert metering.cost(replace(HOURLY, fee=100_000), [made(NODES)], (), NOW) == 0


def test_what_it_costs_an_hour_is_what_is_there() -> None:
    burst = replace(HOURLY, fee=100_000)
    assert metering.hourly(burst, [NodeCount(0.0, 4), NodeCount(5.0, 3)]) == 3 * 3_600_000 + 100_000
    assert metering.hourly(burst, ()) == 100_000
