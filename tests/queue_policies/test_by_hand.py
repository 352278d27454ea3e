"""Orders by hand to a running job: which are given, and why others are not."""

from __future__ import annotations

from typing import Any

import pytest

from broker_config.formats.constraints import matches
from broker_config.formats.jobspec import RequestedResources
from broker_config.formats.resource_set import Node
from queue_policies.errors import OrderRefused
from queue_policies.nodes.pool import Pool
from queue_policies.orders import by_hand
from queue_policies.orders.program import BY_HAND_DELAY, ProgramOrders
from queue_policies.orders.records import GrowOrder, ShrinkOrder, record
from queue_policies.orders.resizing import Resizing
from queue_policies.queue import IndexedQueue
from queue_policies.records import Elastic, QueuedJob
from queue_policies.running import RunningJobs

SLOTS = RequestedResources(0, 2, 2, 0)
"""Two slots of two cores."""
NODES = RequestedResources(2, 1, 2, 0)
"""A slot of two cores on each of two nodes."""
JOB, OTHER = 1, 2


class Scene:
    """Four nodes of two cores; two are the job's. Another job takes some of the rest."""

    def __init__(self, request: RequestedResources = SLOTS, elastic: Elastic | None = None, taken: int = 0):
        self.pool = Pool([Node(rank, f"n{rank}", 3, 0) for rank in range(4)], matches)
        for rank in range(4):
            self.pool.mark(rank, up=True)
        self.running, self.changes = RunningJobs(), list[Any]()
        self.resizing = Resizing(self.pool, IndexedQueue(), self.running, self.changes.append)
        assert self.pool.alloc(JOB, request) is not None
        if taken:
            assert self.pool.alloc(OTHER, RequestedResources(0, taken, 1, 0)) is not None
        sizes = elastic or Elastic(2, 8, malleable=True)
        self.running[JOB] = record(QueuedJob(JOB, 16, request, 0.0, elastic=sizes), request, 0.0, heeds=True)

    def order(self, workers: int, obstacle: str = "") -> Any:
        return by_hand.order(self.resizing, self.running[JOB], workers, obstacle)


@pytest.mark.parametrize("request_", [SLOTS, NODES], ids=["slots", "nodes"])
def test_a_job_shrinks_by_workers(request_: RequestedResources) -> None:
    scene = Scene(request_)
    assert scene.order(1) == ShrinkOrder(JOB, 1)
    assert not scene.running[JOB].heeds


@pytest.mark.parametrize("request_", [SLOTS, NODES], ids=["slots", "nodes"])
def test_a_job_grows_into_what_is_free_and_reserves_it(request_: RequestedResources) -> None:
    scene = Scene(request_)
    assert scene.order(4) == GrowOrder(JOB, {2: (3, 0), 3: (3, 0)})
    assert (scene.pool.free, scene.running[JOB].heeds) == (0, False)


def test_the_size_that_it_has_is_no_order() -> None:
    scene = Scene()
    assert scene.order(2, "it sleeps") is None
    assert scene.running[JOB].heeds


@pytest.mark.parametrize(
    ("elastic", "taken", "workers", "obstacle", "message"),
    [
        pytest.param(
            Elastic(2, 8),
            0,
            3,
            "",
            "is not malleable: it was not submitted with user.elastic.malleable=true",
            id="moldable",
        ),
        pytest.param(Elastic(2, 6, True), 0, 4, "", "runs with 1 to 3 workers here, not with 4", id="above"),
        pytest.param(Elastic(4, 8, True), 0, 1, "", "runs with 2 to 4 workers here, not with 1", id="below"),
        pytest.param(
            None,
            0,
            3,
            "it sleeps",
            "takes no orders: it sleeps",
            id="unregistered",
        ),
        pytest.param(
            None, 2, 4, "", "has no room for 4 workers: what is free now allows 3", id="partly-free"
        ),
        pytest.param(None, 4, 3, "", "has no room for 3 workers: what is free now allows 2", id="full"),
    ],
)
def test_an_order_that_cannot_be_given_changes_nothing(
    elastic: Elastic | None, taken: int, workers: int, obstacle: str, message: str
) -> None:
    scene = Scene(elastic=elastic, taken=taken)
    free = scene.pool.free
    with pytest.raises(OrderRefused) as refusal:
        scene.order(workers, obstacle)
    assert str(refusal.value) == message
    assert (scene.pool.free, scene.running[JOB].heeds) == (free, True)


def test_a_job_without_sizes_is_not_malleable() -> None:
    scene = Scene()
    scene.running[JOB] = scene.running[JOB]._replace(elastic=None)
    with pytest.raises(OrderRefused, match="is not malleable"):
        scene.order(1)


def test_one_order_at_a_time() -> None:
    scene = Scene()
    scene.order(1)
    with pytest.raises(OrderRefused) as refusal:
        scene.order(3)
    assert str(refusal.value) == "has another order under way"


class Session:
    """A program that always accepts an order."""

    accepts_resize = True
    deadline = None
    order = None


def test_the_policy_leaves_the_job_alone_after_it() -> None:
    """Without an order by hand it may go on at once."""
    orders = ProgramOrders(Session())
    orders.resized((), 100.0)
    assert orders.accepts_resize
    ends: list[str] = []
    orders.on_end = ends.append
    orders.resized((), 100.0)
    orders.end()
    assert (orders.accepts_resize, orders.due, ends) == (False, 100.0 + BY_HAND_DELAY, [""])
    assert (orders.rested(100.0 + BY_HAND_DELAY), orders.accepts_resize) == (True, True)


def test_what_became_of_it_is_reported_once() -> None:
    orders, ends = ProgramOrders(Session()), list[str]()
    orders.on_end = ends.append
    orders.end("refused: no")
    orders.end()
    assert ends == ["refused: no"]
