"""Plans where each job gets an instance of its own."""

from __future__ import annotations

from broker_config.formats.jobid import f58
from broker_config.formats.jobspec import RequestedResources
from burst.planning.plan import isolated_slot, plan
from burst.planning.records import LeftOut, NodeShape, Offer
from tests.burst.planning.plan_requests import EURO, OFFER, job, request


def test_each_job_has_a_burst_of_its_own_without_any_slot() -> None:
    found = plan(request(job(1 << 40, 2), job(2 << 40, 3), slots=(), isolated=True))
    assert [(each.slot, each.nodes, each.jobs, each.isolated) for each in found.bursts] == [
        (isolated_slot(1 << 40), 2, (1 << 40,), True),
        (isolated_slot(2 << 40), 3, (2 << 40,), True),
    ]
    assert found.left_out == ()


def test_a_slot_is_named_after_its_job() -> None:
    assert isolated_slot(1 << 40) == f"isolated-{f58(1 << 40)[1:]}"


def test_it_is_made_where_it_is_cheapest_at_worst() -> None:
    offers = (OFFER, larger("c16", 16, EURO + EURO // 2))
    tasks = job(1)._replace(request=RequestedResources(0, 32, 1, 0))
    [burst] = plan(request(tasks, offers=offers, isolated=True)).bursts
    assert (burst.machine, burst.nodes) == ("c16", 2)
    assert plan(request(tasks, isolated=True)).bursts[0].nodes == 4


def larger(machine: str, cores: int, price: int) -> Offer:
    """An offer of larger nodes."""
    return Offer(OFFER.provider, machine, NodeShape(cores), price)


def test_limits_of_nodes_and_bursts_hold() -> None:
    jobs = (job(1, 3), job(2, 3), job(3, 1))
    found = plan(request(*jobs, isolated=True, nodes_left=4))
    assert [each.jobs for each in found.bursts] == [(1,), (3,)]
    [left] = found.left_out
    assert left == LeftOut(2, "it needs 3 nodes, and the MiniCluster may have 1 more (bursting.maxNodes)")
    found = plan(request(*jobs, isolated=True, bursts_left=1))
    assert [each.jobs for each in found.bursts] == [(1,)]
    assert {each.job for each in found.left_out} == {2, 3}


def test_what_no_machine_holds_is_left_out_in_words() -> None:
    found = plan(request(job(1, 9), isolated=True, offers=(OFFER._replace(most=8),)))
    assert found.left_out == (LeftOut(1, "it needs 9 nodes, and near has 8 of c8"),)
