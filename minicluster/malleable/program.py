"""The library's part for a program's first task: it hears orders, asks hooks, and answers.

    class Mine(Hooks):
        def after_grow(self, workers): ...      # give them a share of the data
        def before_shrink(self, order): ...     # take the data of some away; return who they are

    with Program(Mine()) as program:
        while not finished:
            step()
            program.poll()                      # a safe point: hooks run here
            program.progress(done / all)

Where no instance gives orders (no MINICLUSTER_MALLEABLE), `poll` does nothing: the run is a rigid one. A
thread of its own may poll (with a timeout) while others compute: then the hooks run there.
"""

from __future__ import annotations

import abc
import logging
import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.malleable import credentials as files
from minicluster.malleable import messages
from minicluster.malleable.errors import Refusal, Rejected
from minicluster.malleable.link import Link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from minicluster.malleable.messages import Grow, Member, Shrink, ToInstance, ToProgram

_log = logging.getLogger(__name__)
_FIRST = 0
_PAUSE = 0.2  # seconds between two reports of progress


class Hooks(abc.ABC):
    """What a program does about orders. Each may raise Refusal(reason) except where it says otherwise."""

    def before_grow(self, order: Grow) -> None:  # noqa: B027 - nothing is a good default
        """Workers on `order.hosts` are on offer. Refuse if little work is left, or more would not help."""

    @abc.abstractmethod
    def after_grow(self, workers: Sequence[Member]) -> None:
        """They have started: take them on. When this returns, growth is acknowledged."""

    @abc.abstractmethod
    def before_shrink(self, order: Shrink) -> Sequence[int]:
        """Choose `order.count` workers, move all they have elsewhere, and return their numbers.

        Never the first (0). They are ended after this, so they may end by themselves.
        """

    def after_shrink(self, workers: Sequence[int]) -> None:  # noqa: B027
        """The instance has freed what these held. Must not raise Refusal."""

    def expired(self, order: int, reason: str) -> None:  # noqa: B027
        """An order that was accepted is over without a resize: forget it. Must not raise Refusal."""


@dataclass
class _Order:
    """The order that was accepted last. `given`: workers that were released for it."""

    id: int
    given: tuple[int, ...] = ()
    taken: dict[int, Member] = field(default_factory=dict)
    over: bool = False


class Program:
    """The connection of a job's program to its instance.

    Raises CredentialsError, OSError and Rejected when it is made; later a lost connection only makes the
    program rigid, after one attempt to come back.
    """

    def __init__(
        self, hooks: Hooks, environment: Mapping[str, str] | None = None, timeout: float = 60.0
    ) -> None:
        self.workers: dict[int, Member] = {}
        self.least = self.most = 0
        self._hooks = hooks
        self._timeout = timeout
        self._order: _Order | None = None
        self._given: list[int] = []
        self._told = (-_PAUSE, -1.0)
        self._polling = threading.Lock()
        self._link: Link | None = None
        self._may_return = True
        self._credentials = files.from_environment(os.environ if environment is None else environment)
        if self._credentials is not None:
            self._connect(self._credentials)

    @property
    def malleable(self) -> bool:
        """Whether orders are heard."""
        return self._link is not None

    @property
    def size(self) -> int:
        """How many workers the instance counts; 0 in a rigid run, where nobody does."""
        return len(self.workers)

    def poll(self, timeout: float = 0.0) -> bool:
        """Carry out what was ordered meanwhile; return whether the size has changed.

        Waits up to `timeout` seconds for a first order. Hooks run in here, and what they raise, except
        Refusal, comes out of here. A second thread waits for the first.
        """
        with self._polling:
            before = set(self.workers)
            heard, failure = self._heard(timeout)
            for message in heard:
                self._take(message)
            if failure is not None:
                self._lost(failure)
            return set(self.workers) != before

    def progress(self, share: float) -> None:
        """Tell how much is done, from 0 to 1; policies learn from it how well the program scales.

        Call it as often as you like: it is passed on a few times a second.
        """
        now, share = time.monotonic(), min(1.0, max(0.0, share))
        if share != self._told[1] and (now - self._told[0] >= _PAUSE or share == 1.0):
            self._told = (now, share)
            self._send(messages.Progress(share))

    def deregister(self) -> None:
        """Be rigid from now on, for good."""
        self._may_return = False
        self._send(messages.Deregister())
        self._drop()

    def close(self) -> None:
        """Hang up: the instance takes the program for rigid."""
        self._may_return = False
        self._drop()

    def __enter__(self) -> Program:  # noqa: PYI034 - Self is newer than Flux's own Python may be
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The connection.

    def _connect(self, credentials: files.Credentials) -> None:
        link = Link(credentials, self._timeout)
        try:
            answer = link.register(self._timeout)
        except BaseException:
            link.close()
            raise
        self._link = link
        self.least, self.most = answer.min, answer.max
        self.workers = {member.task: member for member in answer.workers}

    def _lost(self, why: Exception) -> None:
        """What was ordered over the lost connection is over, unless it was carried out."""
        _log.warning("the instance gives no orders any more: %s", why)
        self._drop()
        back, order = self._came_back(), self._order
        if order is None:
            return
        if back and order.given:  # the word that they are free comes again, or has been said
            self._given = [task for task in {*self._given, *order.given} if task in self.workers]
            if not set(order.given) & set(self.workers):
                self._order = None
                self._hooks.after_shrink(order.given)
        elif not order.over or (back and not set(order.taken) <= set(self.workers)):
            self._forget("the connection to the instance was lost")

    def _came_back(self) -> bool:
        if not self._may_return or self._credentials is None:
            return False
        self._may_return = False
        try:
            self._connect(self._credentials)
        except (OSError, Rejected) as error:
            _log.warning("the program stays at its size: %s", error)
            return False
        return True

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _send(self, message: ToInstance) -> None:
        try:
            if self._link is not None:
                self._link.send(message)
        except OSError as error:
            _log.debug("%s was not sent: %s", message.type, error)  # reading finds that it is lost

    def _heard(self, timeout: float) -> tuple[list[ToProgram], Exception | None]:
        """Return all that counts of what has come, and why the connection is lost, if it is.

        An order that is over already is not begun: it would be done in vain.
        """
        heard: list[ToProgram] = []
        link = self._link
        try:
            while link is not None:
                message = link.receive(0.0 if heard else timeout)
                if message is None:
                    break
                heard.append(message)
        except (OSError, Rejected) as error:
            lost = error if self._link is link else None  # else it was closed here
            return [message for message in heard if isinstance(message, messages.Released)], lost
        over = {message.order for message in heard if isinstance(message, messages.Expired)}
        return [
            message
            for message in heard
            if isinstance(message, messages.Expired) or getattr(message, "order", 0) not in over
        ], None

    # Orders.

    def _take(self, message: ToProgram) -> None:
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
        try:
            self._hooks.before_grow(order)
        except Refusal as refusal:
            self._send(messages.Refuse(order.order, str(refusal)))
            return
        self._order = _Order(order.order)
        self._send(messages.Accept(order.order))

    def _joined(self, joined: messages.Joined) -> None:
        order = self._order
        if order is None or order.id != joined.order:
            return
        self._send(messages.Accept(joined.order))  # the limit for the work begins now
        try:
            self._hooks.after_grow(joined.workers)
        except Refusal as refusal:
            self._order = None
            self._send(messages.Refuse(joined.order, str(refusal)))
            return
        order.taken, order.over = {member.task: member for member in joined.workers}, True
        self.workers.update(order.taken)
        self._send(messages.Done(joined.order))

    def _shrink(self, order: Shrink) -> None:
        self._send(messages.Accept(order.order))
        given = tuple(self._given[: order.count])  # gone already, for an order that expired meanwhile
        wanted = order.count - len(given)
        if wanted:
            try:
                chosen = self._hooks.before_shrink(messages.Shrink(order.order, wanted, order.size))
            except Refusal as refusal:
                self._send(messages.Refuse(order.order, str(refusal)))
                return
            given += self._checked(tuple(chosen), wanted)
        self._order = _Order(order.order, given)
        self._send(messages.Release(order.order, given))

    def _checked(self, chosen: tuple[int, ...], wanted: int) -> tuple[int, ...]:
        able = set(self.workers) - set(self._given) - {_FIRST}
        if len(chosen) != wanted or len(set(chosen) & able) != wanted:
            raise ValueError(f"before_shrink returned {list(chosen)}: expected {wanted} of {sorted(able)}")
        return chosen

    def _released(self, released: messages.Released) -> None:
        if self._order is None or self._order.id != released.order:
            return
        given, self._order = self._order.given, None
        for task in given:
            self.workers.pop(task, None)
        self._given = [task for task in self._given if task not in given]
        self._hooks.after_shrink(given)

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
