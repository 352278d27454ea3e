"""Nodes demanded: cases that can be counted by hand, and what holds of all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics_api.numbers.demand import demand, demand_alone
from metrics_api.numbers.layout import layout
from metrics_api.numbers.records import Hold, SlotRequest, Snapshot
from tests.budgets import examples
from tests.metrics_api.numbers.worlds import change, pendings, run, snapshots, wait, world

ONE_CORE = SlotRequest(0, 1, 1)
ONE_NODE = SlotRequest(1, 1, 4)
TWO_NODES = SlotRequest(2, 1, 4)
ON_LAST_TWO = ("ranks", "2-3")

CASES = [
    pytest.param(world(), 1, id="nothing-runs-or-waits"),
    pytest.param(replace(world(), minimum=3), 3, id="never-below-the-least-size"),
    pytest.param(wait(world(), ONE_NODE, 3), 3, id="one-node-each"),
    pytest.param(wait(world(), ONE_NODE, 12), 4, id="never-above-the-greatest-size"),
    pytest.param(wait(world(), ONE_CORE, 4), 1, id="small-jobs-share-a-node"),
    pytest.param(wait(world(), ONE_CORE, 5), 2, id="one-more-than-a-node-holds"),
    pytest.param(wait(world(), SlotRequest(0, 6, 1)), 2, id="slots-go-over-nodes"),
    pytest.param(wait(world(), SlotRequest(0, 3, 3)), 3, id="slots-stay-whole"),
    pytest.param(wait(world(), SlotRequest(3, 1, 1)), 3, id="nodes-are-different-ones"),
    pytest.param(wait(world(), SlotRequest(2, 1, 1), 2), 2, id="jobs-of-two-nodes-share-them"),
    pytest.param(wait(world(), SlotRequest(1, 1, 1, exclusive=True), 3), 3, id="exclusive"),
    pytest.param(wait(world(), SlotRequest(0, 2, 1, exclusive=True)), 2, id="exclusive-slots"),
    pytest.param(wait(wait(world(), ONE_CORE, 2), SlotRequest(0, 1, 2)), 1, id="mixed-jobs-share-a-node"),
    pytest.param(run(world(), (0, 4), (1, 4)), 2, id="what-runs"),
    pytest.param(run(world(), (3, 4)), 1, id="nodes-in-use-are-counted-not-their-ranks"),
    pytest.param(wait(run(world(), (0, 4)), TWO_NODES), 3, id="what-runs-and-what-waits"),
    pytest.param(wait(run(world(), (0, 1)), ONE_CORE, 3), 1, id="gaps-on-nodes-in-use-are-filled"),
    pytest.param(wait(run(world(), (0, 1)), ONE_CORE, 4), 2, id="gap-too-small"),
    pytest.param(wait(run(world(), (0, 1), (1, 1)), ONE_NODE), 3, id="gaps-that-nothing-fits-into"),
    pytest.param(wait(run(world(), (0, 1)), SlotRequest(2, 1, 3)), 2, id="a-node-in-use-and-another"),
    pytest.param(
        wait(wait(run(world(), (0, 1), (1, 3)), SlotRequest(0, 1, 3)), ONE_CORE), 2, id="mixed-jobs-fill-gaps"
    ),
    pytest.param(wait(world(up=1), ONE_NODE, 2), 2, id="nodes-that-are-not-there-yet"),
    pytest.param(wait(world(), ONE_NODE, 3, hold=Hold.HELD), 1, id="held"),
    pytest.param(wait(world(), ONE_NODE, 3, hold=Hold.DEPENDENCY), 1, id="dependency"),
    pytest.param(wait(world(), SlotRequest(5, 1, 1)), 1, id="too-many-nodes"),
    pytest.param(wait(world(), SlotRequest(0, 1, 5)), 1, id="too-large-slot"),
    pytest.param(wait(world(), SlotRequest(0, 17, 1)), 1, id="too-many-cores"),
    pytest.param(wait(world(), SlotRequest(1, 1, 1, constraint=("properties", "big"))), 1, id="no-such-node"),
    pytest.param(wait(world(), SlotRequest(1, 1, 1, constraint=ON_LAST_TWO)), 3, id="ranks-below-come-too"),
    pytest.param(wait(world(), SlotRequest(2, 1, 1, constraint=ON_LAST_TWO)), 4, id="both-of-the-last"),
    pytest.param(
        wait(world(), SlotRequest(1, 1, 4, constraint=ON_LAST_TWO), 2), 4, id="each-its-own-of-the-last"
    ),
    pytest.param(wait(change(world(), 0, drained=True), ONE_NODE), 2, id="a-drained-node-is-no-use"),
    pytest.param(
        wait(change(world(), 0, drained=True, leaving=True), ONE_NODE), 1, id="the-operators-own-drain-is"
    ),
    pytest.param(
        wait(run(change(world(), 0, drained=True), (0, 1)), ONE_CORE), 2, id="gap-on-a-drained-node-is-none"
    ),
    pytest.param(wait(world(gpus=1), SlotRequest(0, 1, 1, 1), 3), 3, id="gpus"),
    pytest.param(
        wait(wait(world(gpus=1), SlotRequest(0, 1, 1, 1)), SlotRequest(0, 1, 4)), 2, id="gpu-job-and-wide-job"
    ),
]


@pytest.mark.parametrize(("snapshot", "wanted"), CASES)
def test_nodes_demanded(snapshot: Snapshot, wanted: int) -> None:
    assert demand(snapshot).nodes == wanted


def test_elastic_pending_job_has_a_floor_and_a_ceiling() -> None:
    """It asks for two, and could do with one or use three."""
    found = demand(wait(world(), SlotRequest(2, 1, 4, least=1, most=3)))
    assert (found.floor, found.nodes, found.ceiling) == (1, 2, 3)


@pytest.mark.parametrize(
    "request_", [SlotRequest(2, 1, 4, least=1, most=9), SlotRequest(0, 8, 1, least=4, most=99)]
)
def test_ceiling_of_a_job_that_could_use_more_than_there_can_be(request_: SlotRequest) -> None:
    found = demand(wait(world(), request_))
    assert (found.floor, found.nodes, found.ceiling) == (1, 2, 4)


def test_elastic_running_job_has_a_floor_and_a_ceiling() -> None:
    found = demand(run(world(), (0, 4), (1, 4), least=1, most=8))
    assert (found.floor, found.nodes, found.ceiling) == (1, 2, 4)


def test_rigid_jobs_have_no_range() -> None:
    found = demand(wait(run(world(), (0, 4)), ONE_NODE))
    assert found.floor == found.nodes == found.ceiling == 2


def test_alone_there_is_no_least_size() -> None:
    """Nothing at all is demanded where there is nothing."""
    assert demand_alone(replace(world(), minimum=3)) == 0
    assert demand_alone(wait(run(world(), (0, 4)), ONE_NODE, 2)) == 3


@given(snapshots())
def test_never_below_what_runs(snapshot: Snapshot) -> None:
    used = {rank for job in snapshot.running for rank, _, _ in job.allocation}
    assert demand(snapshot).nodes >= len(used)


@given(snapshots())
def test_between_least_and_greatest(snapshot: Snapshot) -> None:
    found = demand(snapshot)
    assert snapshot.minimum <= found.floor <= found.nodes <= found.ceiling <= snapshot.maximum


@given(snapshots())
def test_nothing_pending_and_nothing_running_is_the_least_size(snapshot: Snapshot) -> None:
    assert demand(replace(snapshot, pending=(), running=())).nodes == snapshot.minimum


@settings(max_examples=examples(150))
@given(snapshots(), pendings)
def test_monotone_in_pending_jobs(snapshot: Snapshot, another: object) -> None:
    """Whatever waits besides, one job more never demands less."""
    more = replace(snapshot, pending=(*snapshot.pending, another))
    assert demand(more).nodes >= demand(snapshot).nodes


@given(snapshots(), st.integers(0, 4))
def test_monotone_in_their_number(snapshot: Snapshot, index: int) -> None:
    if index >= len(snapshot.pending):
        return
    each = snapshot.pending[index]
    pending = (*snapshot.pending[:index], replace(each, count=each.count + 1), *snapshot.pending[index + 1 :])
    assert demand(replace(snapshot, pending=pending)).nodes >= demand(snapshot).nodes


@given(snapshots(), st.randoms(use_true_random=False))
def test_order_does_not_matter(snapshot: Snapshot, random: object) -> None:
    pending = list(snapshot.pending)
    random.shuffle(pending)  # type: ignore[attr-defined]
    assert demand(replace(snapshot, pending=tuple(pending))) == demand(snapshot)


@given(snapshots(), pendings)
def test_what_cannot_count_changes_nothing(snapshot: Snapshot, another: object) -> None:
    """Held, waiting for a dependency, or never to fit."""
    if another.hold == Hold.NONE and layout(snapshot.nodes).satisfiable(another.request):  # type: ignore[attr-defined]
        another = replace(another, hold=Hold.HELD)  # type: ignore[type-var]
    assert demand(replace(snapshot, pending=(*snapshot.pending, another))) == demand(snapshot)


@settings(max_examples=examples(100))
@given(st.integers(1, 6), st.integers(1, 8), st.data())
def test_jobs_that_are_alike_are_counted_exactly(size: int, cores: int, data: st.DataObject) -> None:
    """As by placing one after another on the first node that has room."""
    snapshot = world(size, cores)
    used = [data.draw(st.integers(0, cores)) for _ in range(size)]
    for rank, taken in enumerate(used):
        snapshot = run(snapshot, (rank, taken)) if taken else snapshot
    slot = data.draw(st.integers(1, cores))
    count = data.draw(st.integers(0, 10))
    free = [cores - taken for taken in used if taken] + [cores for taken in used if not taken]
    busy = sum(1 for taken in used if taken)
    last = 0
    for _ in range(count):
        node = next((index for index, room in enumerate(free) if room >= slot), None)
        if node is None:
            last = size
            break
        free[node] -= slot
        last = max(last, node + 1)
    snapshot = wait(snapshot, SlotRequest(0, 1, slot), count) if count else snapshot
    assert demand(snapshot).nodes == max(1, busy, last)


@settings(max_examples=examples(100))
@given(st.integers(2, 6), st.integers(1, 6), st.data())
def test_a_job_for_which_there_is_no_room_demands_a_node(up: int, cores: int, data: st.DataObject) -> None:
    """Else it would wait until another one ends, which may be never."""
    snapshot = world(up + 1, cores, up)
    used = [data.draw(st.integers(0, cores)) for _ in range(up)]
    for rank, taken in enumerate(used):
        snapshot = run(snapshot, (rank, taken)) if taken else snapshot
    slot = data.draw(st.integers(1, cores))
    if all(cores - taken < slot for taken in used):
        assert demand(wait(snapshot, SlotRequest(0, 1, slot))).nodes == up + 1
