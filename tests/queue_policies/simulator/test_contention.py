"""Jobs slow each other down, and each is as fast as its neighbours let it be at any time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from queue_policies import plugins
from queue_policies.placement.low_rank import LowRank
from queue_policies.placement.records import Affinity, TaskShape
from queue_policies.simulator.contention import Occupant, Occupants
from queue_policies.simulator.cost import PerWorker
from queue_policies.simulator.domain_contention import DomainContention, KindOfJob
from queue_policies.simulator.errors import SimulationError, WorkloadError
from queue_policies.simulator.failure import Failures
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.node_cluster import alike
from queue_policies.simulator.simulation_options import SimulationOptions

if TYPE_CHECKING:
    from queue_policies.simulator.workload import Workload

DOMAIN = ((0b0011, 0b1100),)


def on_nodes(kit: Any, *jobs: Any, nodes: int = 1) -> Workload:
    """Nodes of two domains of two cores, where jobs of the kind `bus` slow each other down."""
    made = alike(nodes, 2, 2)
    kinds = {"bus": KindOfJob(6.0, 4.0, 1.0)}
    model = DomainContention(kinds, DOMAIN * nodes, knee=1.0, slope=0.5, unpinned=1.5)
    total = 4 * nodes
    return replace(kit.workload(*jobs, total=total), nodes=made, contention=model, placement=LowRank())


def ends(workload: Workload) -> list[float]:
    return [job.ended for job in simulate(workload, plugins.load("backfill")).jobs]


def test_a_job_alone_takes_its_time(kit: Any) -> None:
    assert ends(on_nodes(kit, kit.rigid(1, 1, 99.0, kind="bus"))) == [10.0]


def test_jobs_of_one_domain_are_slow_while_both_run(kit: Any) -> None:
    """Both take 12 s a whole from 5 s on. The first has half left there; the second is alone after 11 s."""
    found = ends(on_nodes(kit, kit.rigid(1, 1, 99.0, kind="bus"), kit.rigid(2, 1, 99.0, 5.0, kind="bus")))
    assert found == pytest.approx([11.0, 16.0])


def test_jobs_of_different_domains_do_not_meet(kit: Any) -> None:
    jobs = [kit.rigid(number, 2, 99.0, kind="bus") for number in (1, 2)]
    assert ends(on_nodes(kit, *jobs)) == pytest.approx([12.0, 12.0])  # each with a demand of 2 of its own


def test_a_job_of_no_known_kind_takes_its_own_time_and_disturbs_nobody(kit: Any) -> None:
    assert ends(on_nodes(kit, kit.rigid(1, 1, 7.0), kit.rigid(2, 1, 99.0, kind="bus"))) == [7.0, 10.0]


def test_the_slowest_domain_of_a_job_counts(kit: Any) -> None:
    """Of its three tasks two are in one domain: 6 + 4 * (1 + 0.5 * 1)."""
    assert ends(on_nodes(kit, kit.rigid(1, 3, 99.0, kind="bus"))) == [12.0]


def test_unpinned_tasks_demand_of_all_domains_of_their_node(kit: Any) -> None:
    """A demand of 1.5 in each domain, and memory takes 1.5 times as long: 6 + 4 * 1.5 * 1.25."""
    shape = TaskShape(affinity=Affinity.NONE)
    assert ends(on_nodes(kit, kit.rigid(1, 3, 99.0, kind="bus", shape=shape))) == [13.5]


def test_the_work_of_a_worker_depends_on_its_tasks(kit: Any) -> None:
    model = DomainContention({"cpu": KindOfJob(10.0, by_worker=((1, 0.5), (3, 0.9)))}, DOMAIN, 9.0, 1.0)
    seen = {}
    for workers in (1, 2, 4):
        present = Occupants()
        present.add(Occupant(kit.rigid(1, 4, 9.0, kind="cpu"), 4, {0: (15, 0)}, workers=workers))
        seen[workers] = model.seconds([1], present)[1]
    assert seen == pytest.approx({1: 9.0, 2: 7.0, 4: 5.0})


def test_a_start_takes_longer_with_more_workers_and_cores_come_back_late(kit: Any) -> None:
    cost = PerWorker(release=3.0, starts=((1, 1.0), (4, 4.0)))
    jobs = [kit.rigid(number, 4, 7.0, shape=TaskShape(workers=number)) for number in (1, 4)]
    workload = replace(on_nodes(kit, *jobs), cost=cost)
    assert ends(workload) == [8.0, 8.0 + 3.0 + 4.0 + 7.0]


def test_hosts_and_guests_touch_each_other(kit: Any) -> None:
    present = Occupants()
    for number, host in ((1, None), (2, 1), (3, None)):
        present.add(Occupant(kit.rigid(number, 1, 9.0), 1, {}, host))
    assert {job: present.touched(job) for job in (1, 2, 3)} == {1: {1, 2}, 2: {1, 2}, 3: {3}}
    present.remove(1)
    assert present.touched(2) == {2}


def test_an_end_by_a_time_limit_stays_where_it_is(kit: Any) -> None:
    jobs = [kit.rigid(number, 2, 99.0, kind="bus", limit=11.0) for number in (1, 2)]
    outcome = simulate(on_nodes(kit, *jobs), plugins.load("backfill"))
    assert [(job.ended, job.end) for job in outcome.jobs] == [(11.0, "timeout")] * 2


def test_the_outcome_has_the_cores_of_each_job(kit: Any) -> None:
    outcome = simulate(on_nodes(kit, kit.rigid(1, 3, 5.0), kit.rigid(2, 4, 5.0)), plugins.load("fcfs"))
    assert outcome.allocations == (
        ((0.0, {0: (0b0111, 0)}), (5.0, {})),
        ((5.0, {0: (0b1111, 0)}), (10.0, {})),
    )


def test_a_malleable_job_grows_and_shrinks_on_nodes(kit: Any) -> None:
    jobs = [kit.malleable(1, 1, 8, 80.0), kit.rigid(2, 6, 10.0, 2.0)]
    outcome = simulate(on_nodes(kit, *jobs, nodes=2), plugins.load("min-agreement"))
    sizes = [sum(cores.bit_count() for cores, _ in had.values()) for _, had in outcome.allocations[0]]
    assert sizes == [size for _, size in outcome.jobs[0].sizes]
    assert len(set(sizes)) > 2


def test_cores_of_nodes_do_not_fail_one_by_one(kit: Any) -> None:
    workload = on_nodes(kit, kit.rigid(1, 1, 5.0))
    with pytest.raises(SimulationError, match="cores of nodes do not fail one by one; needed are counted"):
        simulate(workload, plugins.load("fcfs"), SimulationOptions(failures=Failures(1e6)))


def test_the_total_is_that_of_the_nodes(kit: Any) -> None:
    with pytest.raises(WorkloadError, match=r"total of 3 units, and its nodes have 4 cores; other nodes are"):
        replace(on_nodes(kit, kit.rigid(1, 1, 5.0)), total=3)
