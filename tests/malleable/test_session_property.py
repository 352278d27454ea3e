"""A session whose program does anything at any time: its workers stay accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from minicluster.malleable import events
from tests.budgets import examples
from tests.malleable.desk import ENDS, Desk

if TYPE_CHECKING:
    from minicluster.malleable.events import SessionEvent


class AnyProgram(RuleBasedStateMachine):
    """An instance that keeps its own account, and a program and workers that do anything at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(size=3, least=1, most=6)
        self.reserved = 0  # for the growth under way
        self.allocated = 3
        self.alive = {0, 1, 2}
        self.used = {0, 1, 2}
        self.orders = 0
        self.account(self.desk.register("c0"))
        self.connection = "c0"

    def account(self, learned: list[SessionEvent]) -> None:
        for event in learned:
            if isinstance(event, events.GrowAccepted):
                assert not self.used & set(event.workers)
                self.used |= set(event.workers)
                self.alive |= set(event.workers)
            elif isinstance(event, events.JobResized):
                self.allocated += len(event.gained) - len(event.lost)
                assert len(event.gained) == self.reserved
                assert not self.alive & set(event.lost)
                assert event.size == self.allocated
                self.reserved = 0
            elif isinstance(event, (events.ResizeRefused, events.ResizeExpired)):
                self.reserved = 0
                self.alive -= set(getattr(event, "workers", ()))

    @precondition(lambda self: self.desk.session.accepts_resize and self.desk.session.size < 6)
    @rule(count=st.integers(1, 3))
    def order_growth(self, count: int) -> None:
        count = min(count, 6 - self.desk.session.size)
        self.orders += 1
        self.reserved = count
        self.desk.grow(*["h"] * count)

    @precondition(lambda self: self.desk.session.accepts_resize and self.desk.session.size > 1)
    @rule(count=st.integers(1, 3))
    def order_shrink(self, count: int) -> None:
        self.orders += 1
        self.desk.shrink(min(count, self.desk.session.size - 1))

    @rule(
        kind=st.sampled_from(["accept", "refuse", "done", "release"]), back=st.integers(-1, 1), data=st.data()
    )
    def answer(self, kind: str, back: int, data: st.DataObject) -> None:
        message: dict[str, Any] = {"type": kind, "order": max(0, self.orders - back)}
        if kind == "release":
            tasks = st.lists(st.sampled_from(sorted(self.used)), max_size=3)
            order = self.desk.session.order
            right = sorted(self.desk.session.workers)[-order.count :] if order is not None else []
            message["workers"] = data.draw(st.one_of(st.just(right), tasks))
        self.account(self.desk.send(self.connection, **message))

    @precondition(lambda self: self.desk.session.order is not None and self.desk.session.order.workers)
    @rule(data=st.data())
    def join(self, data: st.DataObject) -> None:
        order = self.desk.session.order
        assert order is not None
        task = data.draw(st.sampled_from(sorted(order.workers)))
        self.account(self.desk.join(task, order.id))

    @rule(data=st.data())
    def a_task_ends(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(sorted(self.alive)))
        self.alive.discard(task)
        self.account(self.desk.take(self.desk.session.ended(task, self.desk.now)))
        self.alive.add(0)  # the job would be over

    @rule(seconds=st.sampled_from([1.0, 55.0, 700.0]))
    def time_passes(self, seconds: float) -> None:
        self.account(self.desk.tick(seconds))

    @rule(line=st.sampled_from([b"?\n", b'{"type":"progress","share":0.5}\n', b'{"type":"deregister"}\n']))
    def send(self, line: bytes) -> None:
        self.account(self.desk.take(self.desk.exchange.received(self.connection, line, self.desk.now)))

    @rule()
    def lose_the_connection(self) -> None:
        self.account(self.desk.take(self.desk.exchange.closed(self.connection, self.desk.now)))

    @rule()
    def come_back(self) -> None:
        self.connection = f"c{len(self.desk.lines)}"
        self.account(self.desk.register(self.connection))

    @invariant()
    def everything_is_accounted_for(self) -> None:
        session = self.desk.session
        assert session.size == self.allocated
        assert 1 <= session.size <= 6
        assert 0 in session.workers
        ended = sum(isinstance(event, ENDS) for event in self.desk.events)
        assert ended == self.orders - (session.order is not None)
        waits = session.order is not None and session.order.stage.value != "leaving"
        assert waits == (session.deadline is not None)


TestAnyProgram = AnyProgram.TestCase
TestAnyProgram.settings = settings(max_examples=examples(40), stateful_step_count=40)
