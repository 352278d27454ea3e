"""How a program carries out orders: it asks its hooks, and answers the instance."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.malleable import messages
from minicluster.malleable.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minicluster.malleable.hooks import Hooks
    from minicluster.malleable.messages import Grow, Member, Shrink, ToInstance, ToProgram

_log = logging.getLogger(__name__)
FIRST = 0
"""The number of the task that is the program for its instance."""
_MAX_REASON_CHARACTERS = 1000
"""A line of the protocol is limited, and a job's eventlog keeps the reason."""


@dataclass
class _Order:
    """The order that was accepted last."""

    id: int
    given: tuple[int, ...] = ()
    """The workers that were released for it."""
    taken: dict[int, Member] = field(default_factory=dict)
    over: bool = False


class OrderHandling:
    """The orders to one program, one at a time, and its `workers` as the instance counts them."""

    def __init__(self, hooks: Hooks, send: Callable[[ToInstance], None]) -> None:
        self.workers: dict[int, Member] = {}
        self._hooks = hooks
        self._send = send
        self._order: _Order | None = None
        self._given: list[int] = []

    def take(self, message: ToProgram) -> None:
        """Process a message from the instance."""
        if isinstance(message, messages.Grow):
            self._grow(message)
        elif isinstance(message, messages.Joined):
            self._joined(message)
        elif isinstance(message, messages.Shrink):
            self._shrink(message)
        elif isinstance(message, messages.Released):
            self._released(message)
        elif isinstance(message, messages.Expired):
            self._expired(message)
        elif isinstance(message, messages.Error):
            _log.warning("the instance found a mistake: %s", message.reason)

    def _grow(self, order: Grow) -> None:
        with self._refusing(order.order):
            self._hooks.before_grow(order)
            self._order = _Order(order.order)
            self._send(messages.Accept(order.order))

    @contextlib.contextmanager
    def _refusing(self, order: int) -> Iterator[None]:
        """Refuse the order where a hook fails, and raise its error, unless that is a Refusal.

        The program may catch the error and go on: the instance must not wait for an answer then.
        """
        try:
            yield
        except Exception as error:
            self._order = None
            is_refusal = isinstance(error, Refusal)
            reason = str(error) if is_refusal else f"{type(error).__name__}: {error}"
            self._send(messages.Refuse(order, reason[:_MAX_REASON_CHARACTERS]))
            if not is_refusal:
                raise

    def _joined(self, joined: messages.Joined) -> None:
        order = self._order
        if order is None or order.id != joined.order:
            return
        self._send(messages.Accept(joined.order))  # the limit for the work begins now
        with self._refusing(joined.order):
            self._hooks.after_grow(joined.workers)
            order.taken, order.over = {member.task: member for member in joined.workers}, True
            self.workers.update(order.taken)
            self._send(messages.Done(joined.order))

    def _shrink(self, order: Shrink) -> None:
        self._send(messages.Accept(order.order))
        given = tuple(self._given[: order.count])  # gone already, for an order that expired meanwhile
        wanted = order.count - len(given)
        with self._refusing(order.order):
            if wanted:
                prefer = tuple(task for task in order.prefer if task not in self._given)
                asked = messages.Shrink(order.order, wanted, order.size, prefer)
                chosen = self._hooks.before_shrink(asked)
                given += self._checked(tuple(chosen), wanted)
            self._order = _Order(order.order, given)
            self._send(messages.Release(order.order, given))

    def _checked(self, chosen: tuple[int, ...], wanted: int) -> tuple[int, ...]:
        able = set(self.workers) - set(self._given) - {FIRST}
        if len(chosen) != wanted or len(set(chosen) & able) != wanted:
            raise ValueError(f"before_shrink returned {list(chosen)}: expected {wanted} of {sorted(able)}")
        return chosen

    def _released(self, released: messages.Released) -> None:
        if not released.order:
            self._drop(released.workers)
            return
        if self._order is None or self._order.id != released.order:
            return
        given, self._order = self._order.given, None
        self._drop(given)
        self._hooks.after_shrink(given)

    def _drop(self, gone: tuple[int, ...]) -> None:
        for task in gone:
            self.workers.pop(task, None)
        self._given = [task for task in self._given if task not in gone]

    def _expired(self, expired: messages.Expired) -> None:
        if self._order is not None and self._order.id == expired.order:
            self._forget(expired.reason)

    def _forget(self, reason: str) -> None:
        order, self._order = self._order, None
        if order is None:
            return
        self._given += [task for task in order.given if task not in self._given]
        for task in order.taken:
            self.workers.pop(task, None)
        self._hooks.expired(order.id, reason)

    def lost(self, *, back: bool) -> None:
        """Forget the order of a lost connection, unless it is done; `back`: there is a new connection."""
        order = self._order
        if order is None:
            return
        if back and order.given:  # the instance's Released may come again, or may have come already
            self._given = [task for task in {*self._given, *order.given} if task in self.workers]
            if not set(order.given) & set(self.workers):
                self._order = None
                self._hooks.after_shrink(order.given)
        elif not order.over or (back and not set(order.taken) <= set(self.workers)):
            self._forget("the connection to the instance was lost")
