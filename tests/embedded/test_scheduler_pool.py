"""The pool: where requests go, and what never happens to the nodes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import idset, resource_set
from broker_config.formats.constraints import matches
from broker_config.formats.jobspec import RequestedResources
from queue_policies.nodes.feasibility import infeasible
from queue_policies.nodes.pool import Pool

NODES, CORES, GPUS = 4, 4, 2
SIZED = RequestedResources(0, 1, 1, 0)


def _resources(**more: Any) -> dict[str, Any]:
    lite = [{"rank": f"0-{NODES - 1}", "children": {"core": f"0-{CORES - 1}", "gpu": f"0-{GPUS - 1}"}}]
    execution = {"R_lite": lite, "starttime": 0, "expiration": 0, "nodelist": [f"mc-[0-{NODES - 1}]"]}
    return {"version": 1, "execution": execution | more}


def _pool(**more: Any) -> Pool:
    pool = Pool(resource_set.nodes_of(_resources(**more)), matches)
    for rank in range(NODES):
        pool.mark(rank, up=True)
    return pool


@pytest.mark.parametrize(
    ("request_", "summary"),
    [
        pytest.param(RequestedResources(0, 1, 1, 0), "rank0/core0", id="-n1"),
        pytest.param(
            RequestedResources(0, 6, 1, 0), "rank0/core[0-3] rank1/core[0-1]", id="-n6 fills low ranks"
        ),
        pytest.param(RequestedResources(0, 3, 2, 0), "rank0/core[0-3] rank1/core[0-1]", id="-n3 -c2"),
        pytest.param(RequestedResources(0, 2, 3, 0), "rank[0-1]/core[0-2]", id="a slot stays on one node"),
        pytest.param(
            RequestedResources(0, 3, 1, 1), "rank0/core[0-1],gpu[0-1] rank1/core0,gpu0", id="-n3 -g1"
        ),
        pytest.param(RequestedResources(2, 1, 1, 0), "rank[0-1]/core0", id="two nodes, one slot each"),
        pytest.param(RequestedResources(3, 2, 1, 0), "rank[0-2]/core[0-1]", id="-N3 -n6"),
        pytest.param(
            RequestedResources(2, 1, 1, 0, True), "rank[0-1]/core[0-3],gpu[0-1]", id="-N2 --exclusive"
        ),
        pytest.param(
            RequestedResources(0, 2, 1, 0, True), "rank[0-1]/core[0-3],gpu[0-1]", id="-n2 --exclusive"
        ),
        pytest.param(RequestedResources(0, 1, 1, 0, False, ("ranks", "2-3")), "rank2/core0", id="by rank"),
        pytest.param(
            RequestedResources(0, 1, 1, 0, False, ("hostlist", "mc-3")), "rank3/core0", id="by host"
        ),
        pytest.param(
            RequestedResources(0, 1, 1, 0, False, ("properties", "big")), "rank1/core0", id="by property"
        ),
    ],
)
def test_places(request_: RequestedResources, summary: str) -> None:
    pool = _pool(properties={"big": "1,3"})
    allocation = pool.alloc(1, request_)
    assert allocation is not None
    assert resource_set.summary(allocation) == summary


@pytest.mark.parametrize(
    ("constraint", "ranks"),
    [
        pytest.param(("properties", "big"), "1,3", id="has"),
        pytest.param(("properties", "^big"), "0,2", id="has not"),
        pytest.param(("properties", "big", "new"), "3", id="has both"),
        pytest.param(("not", ("properties", "big")), "0,2", id="not"),
        pytest.param(("and", ("properties", "big"), ("ranks", "0-1")), "1", id="and"),
        pytest.param(("or", ("properties", "new"), ("hostlist", "mc-[0-1]")), "0-1,3", id="or"),
        pytest.param(("or",), "0-3", id="an empty or holds"),
        pytest.param(None, "0-3", id="none"),
    ],
)
def test_constraints(constraint: Any, ranks: str) -> None:
    pool = _pool(properties={"big": "1,3", "new": "3"})
    assert idset.encode(node.rank for node in pool.nodes if matches(node, constraint)) == ranks


def test_what_was_worked_out_of_constraints_does_not_grow_without_bound() -> None:
    pool = _pool()
    for number in range(1100):
        pool.fits(RequestedResources(0, 1, 1, 0, False, ("properties", f"p{number}")))
    assert len(pool.constraints) <= 1002


def test_down_and_drained_ranks_get_nothing() -> None:
    pool = _pool()
    pool.mark(0, up=False)
    pool.mark(1, drained=True)
    assert (pool.free, list(pool.alloc(1, SIZED) or ())) == (2 * CORES, [2])


def test_resources_freed_on_a_drained_rank_are_not_free() -> None:
    pool = _pool()
    pool.alloc(1, SIZED)
    pool.mark(0, drained=True)
    pool.release(1)
    assert (pool.free, pool.allocated()) == (3 * CORES, {})


def test_another_kind_of_request_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="is no request for nodes and cores"):
        _pool().fits(3)  # type: ignore[arg-type]


def test_encodes_an_allocation_as_an_r() -> None:
    pool = _pool(properties={"big": "1,3"})
    allocation = pool.alloc(1, RequestedResources(0, 6, 1, 0))
    assert allocation is not None
    made = resource_set.encode(
        resource_set.nodes_of(_resources(properties={"big": "1,3"})), allocation, nslots=6
    )
    assert made["execution"] == {
        "R_lite": [
            {"rank": "0", "children": {"core": "0-3"}},
            {"rank": "1", "children": {"core": "0-1"}},
        ],
        "starttime": 0.0,
        "expiration": 0.0,
        "nodelist": ["mc-[0-1]"],
        "properties": {"big": "1"},
        "nslots": 6,
    }
    assert (resource_set.allocation_of(made), resource_set.read(made).counts[1]) == (allocation, 6)


REQUESTS = st.builds(
    RequestedResources,
    nodes=st.integers(0, 3),
    slots=st.integers(1, 5),
    cores=st.integers(1, 3),
    gpus=st.integers(0, 1),
    exclusive=st.booleans(),
    constraint=st.sampled_from([None, ("ranks", "1-2")]),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["alloc", "free", "down", "up", "drain"]), st.integers(0, 9), REQUESTS),
    max_size=40,
)


@given(STEPS)
def test_no_core_is_given_twice_and_counts_hold(steps: list[Any]) -> None:
    pool, allocations = _pool(), {}
    for step, number, request in steps:
        if step == "alloc" and number not in allocations:
            expected = pool.place(request)
            trial = pool.sketch()
            assert trial.take(number, request) == trial.holds(number) == (expected is not None)
            allocation = pool.alloc(number, request)
            assert allocation == expected, "a sketch and the pool place alike"
            if allocation is not None:
                allocations[number] = dict(allocation)
                assert infeasible(pool, request) is None, "what was placed is feasible"
                assert trial.free == pool.free
        elif step == "free":
            pool.release(number)
            allocations.pop(number, None)
        elif step in ("down", "up"):
            pool.mark(number % NODES, up=step == "up")
        else:
            pool.mark(number % NODES, drained=number > NODES)
        for rank in range(NODES):
            resources = [allocation[rank] for allocation in allocations.values() if rank in allocation]
            assert sum(cores for cores, _ in resources) == pool.allocated().get(rank, (0, 0))[0]
        assert pool.free == sum(pool.rank_resources[r][0].bit_count() for r in pool.up - pool.drained)


@given(st.lists(REQUESTS, max_size=6), REQUESTS)
def test_a_trial_leaves_the_pool_alone(
    requests: list[RequestedResources], request: RequestedResources
) -> None:
    pool = _pool()
    for number, each in enumerate(requests):
        pool.alloc(number, each)
    before = (pool.free, list(pool.rank_resources))
    trial = pool.sketch()
    for number in range(len(requests)):
        trial.give(number)
    copied = trial.copy()
    if trial.take(99, request):
        copied.mirror(trial, 99)
        assert copied.free == trial.free
        copied.give(99)
    assert (pool.free, pool.rank_resources) == before
    assert copied.free == NODES * CORES
