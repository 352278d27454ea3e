"""What holds for every placement: properties of random histories on random nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_config.formats.jobspec import RequestedResources
from queue_policies.nodes.domains import domains_of
from queue_policies.nodes.feasibility import infeasible
from queue_policies.nodes.obstacles import obstacle
from queue_policies.placement.builtin import CLASSES
from queue_policies.placement.plugins import load
from queue_policies.placement.records import Affinity, Profile, ProfileKind, TaskShape
from tests.budgets import examples
from tests.queue_policies.placement.clusters import node, pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_config.formats.resource_set import Node
    from queue_policies.nodes.pool import Pool

KINDS = st.sampled_from([None, *ProfileKind])
AFFINITIES = st.sampled_from(Affinity)


class History(NamedTuple):
    """Nodes, and what comes: a request that is placed, or the number of a job that ends."""

    nodes: Sequence[Node]
    events: Sequence[RequestedResources | int]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Up to four nodes of up to three domains, which need not be alike."""
    sizes = st.lists(st.integers(1, 6), min_size=1, max_size=3)
    nodes = [node(rank, draw(sizes), draw(st.integers(0, 2))) for rank in range(draw(st.integers(1, 4)))]
    return History(nodes, draw(st.lists(st.one_of(requests(), st.integers(0, 9)), min_size=1, max_size=10)))


@st.composite
def requests(draw: st.DrawFn) -> RequestedResources:
    """Requests of all kinds."""
    kind, workers = draw(KINDS), draw(st.sampled_from([0, 0, 1, 2, 3, 5]))
    profile = None if kind is None else Profile(kind, draw(st.sampled_from([0.0, 0.5])))
    shape = TaskShape(profile, draw(st.sampled_from([0, 0, 7])), workers)
    return RequestedResources(
        draw(st.sampled_from([0, 0, 0, 1, 2])),
        draw(st.integers(1, 9)),
        draw(st.sampled_from([1, 1, 2])),
        draw(st.sampled_from([0, 0, 0, 1])),
        draw(st.sampled_from([False, False, False, True])),
        draw(st.sampled_from([None, None, ("ranks", "0-1")])),
        draw(st.sampled_from([None, shape, shape])),
    )


def played(name: str, affinity: Affinity, history: History) -> tuple[Pool, dict[int, tuple[Any, Any]]]:
    """The pool after it, and what jobs hold that have not ended: request and allocation."""
    cluster = pool(load(name, {"affinity": affinity.value}), history.nodes)
    jobs: dict[int, tuple[Any, Any]] = {}
    for number, event in enumerate(history.events, 10):
        if isinstance(event, int):
            cluster.release(event + 10)
            jobs.pop(event + 10, None)
            continue
        trial = cluster.sketch()
        fitted = cluster.fits(event)
        assert (trial.fits(event), trial.take(number, event)) == (fitted, fitted)
        allocation = cluster.alloc(number, event)
        assert (allocation is not None) == fitted
        if allocation is None:
            assert obstacle(cluster, event) or cluster.placement is None or event.size > cluster.free
        else:
            whole_workers = event.gpus and affinity is Affinity.REQUIRED and event.shape
            assert whole_workers or infeasible(cluster, event) is None
            jobs[number] = event, allocation
    return cluster, jobs


@pytest.mark.parametrize("name", CLASSES)
@given(affinity=AFFINITIES, history=histories())
@settings(max_examples=examples(25), deadline=None)
def test_what_is_given_was_free_and_is_what_was_asked_for(
    name: str, affinity: Affinity, history: History
) -> None:
    cluster, jobs = played(name, affinity, history)
    for number, (request, allocation) in jobs.items():
        for rank, (cores, gpus) in allocation.items():
            others = [given.get(rank, (0, 0)) for job, (_, given) in jobs.items() if job != number]
            assert not any(cores & theirs or gpus & its for theirs, its in others)
            assert not cores & ~history.nodes[rank].cores
            assert not gpus & ~history.nodes[rank].gpus
            assert request.constraint is None or rank <= 1
        if request.exclusive:
            assert all(history.nodes[rank].cores == cores for rank, (cores, _) in allocation.items())
        else:
            assert sum(cores.bit_count() for cores, _ in allocation.values()) == request.size
            assert sum(gpus.bit_count() for _, gpus in allocation.values()) == request.gpus * (
                request.slots_in_all
            )
        if request.nodes or request.exclusive:
            assert len(allocation) == (request.nodes or request.slots)
    for rank, (cores, _) in enumerate(cluster.rank_resources):
        taken = [theirs[rank][0] for _, theirs in jobs.values() if rank in theirs]
        assert cores == history.nodes[rank].cores & ~sum(taken)


@pytest.mark.parametrize("name", CLASSES)
@given(history=histories())
@settings(max_examples=examples(10), deadline=None)
def test_the_same_history_has_the_same_end(name: str, history: History) -> None:
    assert played(name, Affinity.BEST_EFFORT, history)[1] == played(name, Affinity.BEST_EFFORT, history)[1]


@pytest.mark.parametrize("name", CLASSES)
@given(affinity=AFFINITIES, history=histories())
@settings(max_examples=examples(25), deadline=None)
def test_workers_have_all_cores_and_tasks(name: str, affinity: Affinity, history: History) -> None:
    """With required affinity each has the cores of one domain, unless it does input and output."""
    cluster, jobs = played(name, affinity, history)
    for request, allocation in jobs.values():
        workers = cluster.workers_of(request, allocation)
        assert list(workers) == sorted(allocation)
        tasks = sum(each.tasks for here in workers.values() for each in here)
        assert tasks == ((request.shape and request.shape.tasks) or _slots(request))
        for rank, here in workers.items():
            bits = [each.cores for each in here]
            assert sum(bits) == _joined(bits)
            if not request.exclusive:
                assert _joined(bits) == allocation[rank][0]
            is_io = request.shape and request.shape.profile and request.shape.profile.kind is ProfileKind.IO
            if affinity is Affinity.REQUIRED and cluster.placement is not None and not is_io:
                domains = domains_of(history.nodes[rank])
                assert all(any(not each & ~domain for domain in domains) for each in bits)


def _slots(request: RequestedResources) -> int:
    return request.slots_in_all


def _joined(bits: Sequence[int]) -> int:
    found = 0
    for each in bits:
        found |= each
    return found


@pytest.mark.parametrize("name", CLASSES)
@given(history=histories())
@settings(max_examples=examples(10), deadline=None)
def test_a_trial_knows_what_was_placed_in_it(name: str, history: History) -> None:
    """All jobs of a history are placed in one trial as one after the other; its copy and mirror know them."""
    asked = [event for event in history.events if not isinstance(event, int)]
    cluster = pool(load(name, {"affinity": "best-effort"}), history.nodes)
    trial, mirror = cluster.sketch(), cluster.sketch()
    placed = [number for number, event in enumerate(asked) if trial.take(number, event)]
    for number in placed:
        mirror.mirror(trial, number)
    assert [number for number, event in enumerate(asked) if cluster.alloc(number, event)] == placed
    again, copied = cluster.sketch(), trial.copy()
    for last in asked:
        fits = again.fits(last)
        assert (trial.fits(last), mirror.fits(last), copied.fits(last)) == (fits, fits, fits)
    for number in placed:
        copied.give(number)
        again.give(number)
    assert copied.free == again.free == cluster.total


@given(affinity=AFFINITIES, history=histories(), request=requests())
@settings(max_examples=examples(60), deadline=None)
def test_what_balanced_divides_at_will_fits_wherever_there_are_slots(
    affinity: Affinity, history: History, request: RequestedResources
) -> None:
    """A trial only counts for such a job, where the pool places it."""
    cluster, jobs = played("balanced", affinity, history)
    trial = cluster.sketch()
    assert trial.fits(request) == cluster.fits(request)
    for number in jobs:
        trial.give(number)
        cluster.release(number)
        assert trial.fits(request) == cluster.fits(request)


@given(history=histories())
@settings(max_examples=examples(30), deadline=None)
def test_low_rank_is_what_a_pool_without_placement_does(history: History) -> None:
    plain, named = pool(None, history.nodes), pool(load("low-rank"), history.nodes)
    asked = [event for event in history.events if not isinstance(event, int)]
    assert named.placement is None
    for each in enumerate(asked):
        assert plain.alloc(*each) == named.alloc(*each)
