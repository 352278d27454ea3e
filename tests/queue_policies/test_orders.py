"""The orders to one program, and jobs that wait for others, where time is but an argument."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from queue_policies.counting import Units
from queue_policies.nodes.records import Slot
from queue_policies.orders.book import OrderBook
from queue_policies.orders.program import RETRY_DELAY, ProgramOrders
from queue_policies.orders.records import record
from queue_policies.queue import IndexedQueue
from queue_policies.records import QueuedJob
from queue_policies.running import RunningJobs
from queue_policies.simulator.unit_cluster import UnitCluster
from queue_policies.simulator.unit_room import UnitRoom

SLOTS = [Slot(rank, (1, 0)) for rank in range(3)]


@dataclass(frozen=True)
class Sent:
    """An order under way."""

    id: int


@dataclass
class Session:
    """A program that always accepts an order."""

    accepts_resize: bool = True
    deadline: float | None = None
    order: Sent | None = None


def _orders() -> ProgramOrders:
    """A program of one worker, for which two slots are reserved on the hosts 1 and 2."""
    return ProgramOrders(Session(), SLOTS[:1], SLOTS[1:])


def test_workers_get_places_on_their_hosts() -> None:
    orders = _orders()
    assert orders.start({5: "2", 6: "1"}, lambda slot: str(slot.rank)) == {5: SLOTS[2], 6: SLOTS[1]}
    assert (orders.accepts_resize, orders.starting) == (False, {5, 6})
    assert orders.resized((), 100.0) == []
    assert (orders.accepts_resize, orders.slots[5]) == (True, SLOTS[2])
    assert orders.resized([5], 100.0) == [SLOTS[2]]


def test_what_was_reserved_waits_for_the_last_worker_that_was_started() -> None:
    orders = _orders()
    orders.start({5: "2", 6: "1"}, lambda slot: str(slot.rank))
    orders.alive |= {5, 6}
    orders.expire("late")
    orders.alive.discard(5)
    assert (orders.over, orders.wound_up()) == (True, "")
    orders.alive.discard(6)
    assert (orders.wound_up(), orders.wound_up()) == ("late", "")
    assert (orders.drop(100.0), orders.slots) == (SLOTS[1:], {0: SLOTS[0]})


def test_a_program_rests_after_an_order_that_came_to_nothing() -> None:
    orders = _orders()
    orders.drop(100.0)
    assert (orders.accepts_resize, orders.due) == (False, 100.0 + RETRY_DELAY)
    assert not orders.rested(99.0 + RETRY_DELAY)
    assert orders.rested(100.0 + RETRY_DELAY)
    assert (orders.accepts_resize, orders.due, orders.rested(200.0)) == (True, None, False)


def test_a_pause_that_ends_during_an_order_lets_no_other_order_through() -> None:
    orders = ProgramOrders(Session(order=Sent(7)))
    orders.drop(100.0)
    assert (orders.rested(200.0), orders.due) == (False, None)


@pytest.mark.parametrize(
    ("order", "number", "idle"),
    [pytest.param(Sent(7), 7, False, id="under way"), pytest.param(None, 0, True, id="over already")],
)
def test_an_order_that_was_sent_is_the_latest_one(order: Sent | None, number: int, idle: bool) -> None:
    orders = ProgramOrders(Session(order=order))
    assert (orders.sent(), orders.number, orders.idle) == (number, number, idle)


def test_what_is_reserved_waits_for_its_order() -> None:
    assert not _orders().idle


def test_the_next_deadline_counts() -> None:
    orders = ProgramOrders(Session(deadline=105.0))
    orders.drop(100.0)
    assert orders.due == 105.0


class TestBook:
    """One job of four units shrinks by two for a job of three, where one unit is free."""

    def setup_method(self) -> None:
        self.cluster, self.queue, self.running = UnitCluster(5), IndexedQueue(), RunningJobs()
        self.book: OrderBook[int, int] = OrderBook(self.queue, self.running, UnitRoom(self.cluster))
        donor, waiter = QueuedJob(1, 16, Units(4), 0.0), QueuedJob(2, 20, Units(3), 0.0)
        self.cluster.hold(1, 4)
        self.running[1] = record(donor, donor.request, 0.0, heeds=True)
        self.queue.add(waiter)
        self.book.open(1, 2)
        assert self.book.wait_for(record(waiter, waiter.request, 5.0), [1])

    def test_it_waits_with_what_is_free(self) -> None:
        assert (self.cluster.held[2], self.cluster.free, len(self.queue)) == (1, 0, 0)
        assert (self.running[2].waits, self.running[1].heeds, self.book.waiting) == (True, False, True)

    def test_it_begins_with_what_was_promised(self) -> None:
        self.cluster.hold(1, 2)
        ((queued, size),) = self.book.done(1, 0)
        assert (queued.id, size, self.cluster.held[2], self.book.waiting) == (2, 3, 3, False)
        assert self.book.done(1, 0) == []

    def test_it_is_queued_again_where_the_order_comes_to_nothing(self) -> None:
        self.book.refused(1)
        assert (list(self.queue), 2 in self.running, self.cluster.free) == ([self.queue[2]], False, 1)
        assert 1 not in self.book

    def test_it_can_be_called_off(self) -> None:
        """What it was promised is nobody's then, and the next one can have it."""
        assert self.book.cancel(2)
        assert not self.book.cancel(2)
        other = QueuedJob(3, 20, Units(2), 0.0)
        self.queue.add(other)
        assert self.book.wait_for(record(other, other.request, 6.0), [1])
        assert self.cluster.held[3] == 0

    def test_nobody_waits_for_a_job_that_is_amid_no_order(self) -> None:
        other = QueuedJob(3, 20, Units(1), 0.0)
        self.queue.add(other)
        assert not self.book.wait_for(record(other, other.request, 6.0), [7])
        assert 3 in self.queue
