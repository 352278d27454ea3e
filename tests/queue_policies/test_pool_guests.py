"""A core that two jobs have counts once: in the pool, and in trials, whoever ends first."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats.constraints import matches
from broker_config.formats.jobspec import RequestedResources
from broker_config.formats.resource_set import alike, nodes_of, to_dict
from queue_policies.nodes.node_states import hold_as_guest
from queue_policies.nodes.pool import Pool
from queue_policies.orders.guests import cores_for_guest

if TYPE_CHECKING:
    from collections.abc import Sequence

NODES, CORES = 3, 4


def pool() -> Pool:
    made = Pool(nodes_of(to_dict(alike([f"n{rank}" for rank in range(NODES)], CORES))), matches)
    for rank in range(NODES):
        made.mark(rank, up=True)
    return made


def slots(count: int, **more: int) -> RequestedResources:
    return RequestedResources(more.get("nodes", 0), count, 1, more.get("gpus", 0))


def expected_free(made: Pool, jobs: Sequence[int]) -> int:
    """What is free, counted core by core."""
    return made.total - sum(
        reduce(or_, (made.allocation(job).get(rank, (0, 0))[0] for job in jobs), 0).bit_count()
        for rank in range(NODES)
    )


steps = st.lists(
    st.tuples(st.sampled_from(["start", "guest", "end"]), st.integers(0, 20), st.integers(1, 6)), max_size=30
)


@given(steps, st.randoms(use_true_random=False))
def test_what_is_free_is_what_no_job_has(plan: list[tuple[str, int, int]], order: object) -> None:
    made = pool()
    jobs: list[int] = []
    for number, (what, which, size) in enumerate(plan, 1):
        if what == "start" and made.alloc(number, slots(size)) is not None:
            jobs.append(number)
        elif what == "guest" and jobs:
            host = jobs[which % len(jobs)]
            cores = cores_for_guest(made, host, slots(size))
            if cores is not None:
                hold_as_guest(made, number, host, cores)
                jobs.append(number)
        elif what == "end" and jobs:
            made.release(jobs.pop(which % len(jobs)))
        assert made.free == expected_free(made, jobs)
    trial = made.sketch()
    left = list(jobs)
    order.shuffle(left)  # type: ignore[attr-defined]
    while left:
        trial.give(left.pop())
        assert trial.free == expected_free(made, left)
    for job in jobs:
        made.release(job)
    assert (made.free, made.allocated(), bool(made.shared)) == (made.total, {}, False)


@pytest.mark.parametrize(
    ("host", "guest", "cores"),
    [
        pytest.param(slots(4), slots(2), {0: (0b1100, 0)}, id="the highest"),
        pytest.param(slots(6), slots(5), {0: (0b1111, 0), 1: (0b0010, 0)}, id="over two nodes"),
        pytest.param(slots(5), slots(2, nodes=2), None, id="too few on the second node"),
        pytest.param(slots(4), slots(1, gpus=1), None, id="GPUs"),
        pytest.param(slots(4), slots(5), None, id="more than the host has"),
    ],
)
def test_cores_for_a_guest(host: RequestedResources, guest: RequestedResources, cores: object) -> None:
    made = pool()
    made.alloc(1, host)
    assert cores_for_guest(made, 1, guest) == cores
