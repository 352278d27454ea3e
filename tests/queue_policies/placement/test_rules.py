"""Where each placement puts the jobs of the paper's testbed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats.resource_set import summary
from queue_policies.nodes.domains import parts_of
from queue_policies.nodes.feasibility import infeasible
from queue_policies.nodes.obstacles import obstacle
from queue_policies.placement.records import Affinity
from queue_policies.placement.task_group import grouped
from tests.queue_policies.placement.clusters import paper_cluster, request


@pytest.mark.parametrize(
    ("placement", "asked", "expected"),
    [
        pytest.param("low-rank", request(20), "rank0/core[0-19]", id="low-rank"),
        pytest.param("spread", request(16, workers=4), "rank[0-3]/core[0-3]", id="spread by worker"),
        pytest.param("spread", request(6), "rank[0-1]/core[0-1] rank[2-3]/core0", id="spread by slot"),
        pytest.param("pack", request(16, workers=16), "rank0/core[0-15]", id="pack"),
        pytest.param("task-group", request(16, "memory"), "rank[0-3]/core[0-3]", id="groups of memory"),
        pytest.param("task-group", request(16, "network"), "rank0/core[0-15]", id="a group of network"),
        pytest.param("task-group", request(40, "network"), "rank[0-1]/core[0-19]", id="as few nodes"),
        pytest.param("task-group", request(16), "rank0/core[0-15]", id="a group without a profile"),
        pytest.param("task-group", request(2, "io"), "rank[0-1]/core0", id="io, one a node"),
        pytest.param("balanced", request(16, "network"), "rank0/core[0-7,16-23]", id="one node"),
        pytest.param("balanced", request(17, "cpu"), "rank0/core[0-8,16-23]", id="cpu, one node"),
        pytest.param("balanced", request(40, "network"), "rank[0-1]/core[0-19]", id="balanced, few nodes"),
        pytest.param("balanced", request(2, "io"), "rank[0-1]/core0", id="balanced, io"),
        pytest.param("balanced", request(2, nodes=2), "rank[0-1]/core[0-1]", id="balanced, nodes"),
    ],
)
def test_the_first_job_goes_there(placement: str, asked: object, expected: str) -> None:
    allocation = paper_cluster(placement).alloc(1, asked)  # type: ignore[arg-type] # a request of nodes
    assert allocation is not None
    assert summary(allocation) == expected


@pytest.mark.parametrize(
    ("settings", "asked", "expected"),
    [
        ({"network": "domain"}, request(16, "network"), "rank0/core[0-15]"),
        ({"network": "domain"}, request(20, "network"), "rank0/core[0-19]"),
        ({"affinity": "required"}, request(16, "network"), "rank0/core[0-15]"),
        ({"cores": "emptiest"}, request(16, "cpu"), "rank[0-3]/core[0-1,16-17]"),
        ({"cores": "fullest"}, request(16, "cpu"), "rank0/core[0-15]"),
    ],
)
def test_balanced_goes_elsewhere_by_its_settings(
    settings: dict[str, str], asked: object, expected: str
) -> None:
    allocation = paper_cluster("balanced", **settings).alloc(1, asked)  # type: ignore[arg-type]
    assert allocation is not None
    assert summary(allocation) == expected


def test_balanced_takes_the_fullest_node_for_messages_and_the_emptiest_for_cpu() -> None:
    cluster = paper_cluster("balanced")
    for job, kind in enumerate(("network", "cpu", "network", "cpu")):
        assert cluster.alloc(job, request(8, kind)) is not None
    assert [set(cluster.allocation(job)) for job in range(4)] == [{0}, {1}, {0}, {2}]


def test_balanced_divides_a_job_that_no_node_has_room_for() -> None:
    cluster = paper_cluster("balanced")
    assert cluster.alloc(1, request(100, "memory")) is not None
    allocation = cluster.alloc(2, request(20, "cpu"))
    assert allocation is not None
    assert len(allocation) == 4


def test_pack_keeps_whole_nodes_for_others() -> None:
    cluster = paper_cluster("pack")
    for job, slots in enumerate((20, 24, 10, 8)):
        assert cluster.alloc(job, request(slots)) is not None
    assert [set(cluster.allocation(job)) for job in range(4)] == [{0}, {1}, {0}, {1}]


def test_random_draws_by_seed_and_by_what_is_free() -> None:
    asked = request(16, workers=16)
    first, again, other = (paper_cluster("random", seed=seed) for seed in (1, 1, 2))
    assert first.place(asked) == again.place(asked) != other.place(asked)
    assert first.alloc(1, asked) != first.alloc(2, asked)


@pytest.mark.parametrize("seed", range(5))
def test_random_finds_room_for_uneven_workers_wherever_there_is_any(seed: int) -> None:
    """Workers of 11, 11, 10 and 10 slots, where three of each node's 32 would do only one way."""
    cluster = paper_cluster("random", seed=seed)
    assert cluster.alloc(1, request(128 - 42 - 2, workers=4)) is not None
    assert cluster.alloc(2, request(42, workers=4)) is not None


@pytest.mark.parametrize("placement", ["task-group", "balanced"])
def test_jobs_with_much_io_are_apart_while_they_can_be(placement: str) -> None:
    cluster = paper_cluster(placement)
    for job in range(5):
        assert cluster.alloc(job, request(1, "io")) is not None
    ranks = [next(iter(cluster.allocation(job))) for job in range(5)]
    assert (sorted(ranks[:4]), len(set(ranks))) == ([0, 1, 2, 3], 4)


def test_balanced_opens_as_many_domains_as_the_knee_takes() -> None:
    cluster = paper_cluster("balanced", knee=6.0)
    allocation = cluster.alloc(1, request(16, "memory")) or {}
    domains = cluster.nodes[0].domains
    found = [part.bit_count() for cores, _ in allocation.values() for part in parts_of(cores, domains)]
    assert found == [6, 5, 5]


def test_balanced_goes_where_the_least_is_demanded() -> None:
    """Of four memory-bound jobs, eight tasks are in each of the eight domains, above the knee in all."""
    cluster = paper_cluster("balanced")
    for job in range(4):
        assert cluster.alloc(job, request(16, "memory")) is not None
    free = [part.bit_count() for cores, _ in cluster.rank_resources for part in parts_of(cores, _DOMAINS)]
    assert free == [8] * 8


_DOMAINS = ((1 << 16) - 1, ((1 << 16) - 1) << 16)


def test_balanced_takes_the_measured_demand() -> None:
    cluster = paper_cluster("balanced", knee=6.0)
    light = request(16, "memory")
    assert light.shape is not None
    shape = light.shape._replace(profile=light.shape.profile._replace(bandwidth=0.25))
    assert len(cluster.alloc(1, light._replace(shape=shape)) or {}) == 1


@given(
    sizes=st.lists(st.integers(1, 5), max_size=30),
    equal=st.integers(1, 40),
    groups=st.integers(1, 8),
)
def test_groups_of_equal_workers_differ_by_at_most_one(sizes: list[int], equal: int, groups: int) -> None:
    """Algorithm 3; of unequal workers all are in one group."""
    counts = [len(group) for group in grouped([3] * equal, groups)]
    assert max(counts) - min(counts) <= 1
    assert sorted(size for group in grouped(sizes, groups) for size in group) == sorted(sizes)


def test_required_affinity_waits_with_a_reason() -> None:
    cluster = paper_cluster("spread", affinity="required")
    for job in range(8):
        assert cluster.alloc(job, request(12, workers=1)) is not None
    asked = request(8, workers=1)
    assert (cluster.alloc(9, asked), cluster.free) == (None, 32)
    assert obstacle(cluster, asked) == "waits for a domain with 8 free core(s) for a worker; the most is 4"
    assert infeasible(cluster, asked) is None


def test_a_job_that_waits_for_its_nodes_has_a_reason() -> None:
    cluster = paper_cluster("task-group")
    for job in range(4):
        assert cluster.alloc(job, request(20, workers=1)) is not None
    asked = request(16, "network")
    assert cluster.alloc(9, asked) is None
    assert obstacle(cluster, asked) == (
        "waits for nodes: 48 cores are free, not as placement task-group needs them"
    )


@pytest.mark.parametrize(
    ("placement", "asked", "reason"),
    [
        pytest.param(
            "spread",
            request(20, workers=1, affinity=Affinity.REQUIRED),
            "a worker of 20 core(s) does not fit into a domain; the largest has 16",
            id="a domain",
        ),
        pytest.param(
            "spread",
            request(40, workers=1),
            "a worker of 40 core(s) does not fit into a node; the largest has 32",
            id="a node",
        ),
        pytest.param(
            "pack",
            request(5, workers=5, cores=20),
            "placement pack has no room for it even on free nodes",
            id="all at once",
        ),
        pytest.param(
            "spread",
            request(20, workers=1, nodes=2, affinity=Affinity.REQUIRED),
            "a worker of 20 core(s) does not fit into a domain; the largest has 16",
            id="on each of two nodes",
        ),
    ],
)
def test_what_never_fits_is_refused_with_the_largest_that_there_is(
    placement: str, asked: object, reason: str
) -> None:
    found = infeasible(paper_cluster(placement), asked)  # type: ignore[arg-type] # a request of nodes
    assert found is not None
    assert found.removeprefix("unsatisfiable request: ") in {reason, _slots_first(asked)}


def _slots_first(asked: object) -> str:
    """What is refused already as too many slots of that size, with any placement."""
    return "need 5 slot(s) of 20 core(s), only 4 such slot(s) available (total cores: 128)"


def test_more_workers_than_slots_are_one_a_slot() -> None:
    cluster = paper_cluster("spread")
    asked = request(3, workers=9)
    allocation = cluster.alloc(1, asked) or {}
    workers = cluster.workers_of(asked, allocation)
    assert [each.tasks for here in workers.values() for each in here] == [1, 1, 1]


def test_a_trial_finds_again_what_did_not_fit_and_what_did() -> None:
    """A reservation gives jobs back one by one; what fits then may not, beside another job, and fit again."""
    cluster = paper_cluster("task-group")
    for job in range(8):
        assert cluster.alloc(job, request(15, workers=1)) is not None
    wide, trial = request(20, "network"), cluster.sketch()
    assert not trial.fits(wide)
    for job, fits in ((0, False), (1, False), (4, True), (5, True)):
        trial.give(job)
        assert trial.fits(wide) is fits, job
    assert trial.take(10, request(20, "network"))
    assert trial.take(11, request(20, "network"))
    assert not trial.fits(wide)
    trial.give(11)
    assert trial.fits(wide)
    assert trial.take(12, request(1))
    assert trial.fits(wide)
