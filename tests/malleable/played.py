"""A played instance: the real session and exchange on a real socket, and tasks that the test controls.

Its clock moves only when the test moves it, so that time limits need no waiting.
"""

from __future__ import annotations

import os
import secrets
import threading
from typing import TYPE_CHECKING, TypeVar

from minicluster.malleable import events
from minicluster.malleable.credentials import Credentials
from minicluster.malleable.exchange import Exchange
from minicluster.malleable.session import Limits, Session, count_out
from minicluster.malleable.variables import ORDER_VARIABLE, PATH_VARIABLE
from tests.malleable.connections import Connections
from tests.malleable.tasks import DEADLINE, Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from minicluster.malleable.events import SessionEvent, Step

E = TypeVar("E")


class Played:
    """One job. `start(task, order)` is called for each worker of an order that the program accepted."""

    def __init__(
        self,
        directory: Path,
        *,
        least: int = 1,
        most: int = 4,
        size: int = 1,
        start: Callable[[int, int], object] = lambda task, order: None,
        limits: Limits | None = None,
    ) -> None:
        self.now = 0.0
        self.events: list[SessionEvent] = []
        self.tasks = Tasks()
        self._start = start
        self._changed = threading.Condition()
        token = secrets.token_hex(32)
        self.session = Session("ƒplayed", token, least, most, {n: f"h{n}" for n in range(size)}, limits)
        self.exchange = Exchange()
        self.exchange.add(self.session)
        self._connections = Connections(
            self._changed,
            lambda key: self._apply(self.exchange.opened(key)),
            lambda key, data: self._apply(self.exchange.received(key, data, self.now)),
            lambda key: self._apply(self.exchange.closed(key, self.now)),
        )
        self.credentials = Credentials(self._connections.address, "ƒplayed", token)
        self.path = directory / f"malleable-{token[:6]}.json"
        self.path.write_text(self.credentials.text())
        self._connections.start()

    def environment(self, task: int = 0, order: int = 0) -> dict[str, str]:
        """Return the environment of a task of the job."""
        own = {PATH_VARIABLE: str(self.path), "FLUX_TASK_RANK": str(task)}
        return {**own, **({ORDER_VARIABLE: str(order)} if order else {})}

    def grow(self, *hosts: str) -> int:
        """Order to grow; return the order's number."""
        with self._changed:
            return self._order(self.session.grow(hosts, self.now))

    def shrink(self, count: int = 1, prefer: Sequence[int] = ()) -> int:
        """Order to shrink; return the order's number."""
        with self._changed:
            return self._order(self.session.shrink(count, self.now, prefer))

    @property
    def stage(self) -> str:
        """Return the stage of the order under way."""
        return "" if self.session.order is None else self.session.order.stage.value

    def later(self, seconds: float) -> None:
        """Let so much time pass."""
        with self._changed:
            self.now += seconds
            self._apply(self.session.tick(self.now))

    def ended(self, *tasks: int) -> None:
        """Report that tasks have ended."""
        with self._changed:
            for task in tasks:
                self._apply(self.session.ended(task, self.now))

    def lost(self, *tasks: int) -> None:
        """Count workers out that were lost."""
        with self._changed:
            self._apply(count_out(self.session, tasks))

    def hang_up(self) -> None:
        """Lose the program's connection."""
        with self._changed:
            self._connections.drop(self.session.speaker.connection)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait until a condition is true; it is checked after each event."""
        with self._changed:
            assert self._changed.wait_for(condition, DEADLINE), f"waited for {what}; had {self.events}"

    def expect(self, kind: type[E], count: int = 1) -> E:
        """Wait for the count-th event of a kind and return it."""

        def found() -> list[E]:
            return [event for event in self.events if isinstance(event, kind)]

        self.wait(lambda: len(found()) >= count or self.tasks.failed(), f"{count} {kind.__name__}")
        assert not self.tasks.failed(), f"tasks that failed: {self.tasks.failed()}"
        return found()[count - 1]

    def launch(self, task: int, order: int, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Run a task as a real process, and note its end."""
        whole = {**os.environ, **environment, **self.environment(task, order)}
        self.tasks.launch(task, command, whole, (lambda: self.ended(task)) if task else None)

    def close(self) -> None:
        """End everything."""
        self.tasks.kill(*self.tasks.processes)
        self._connections.close()
        self.tasks.close()

    def _order(self, step: Step) -> int:
        self._apply(step)
        assert self.session.order is not None
        return self.session.order.id

    def _apply(self, step: Step) -> None:
        for key, data in step.sends:
            self._connections.send(key, data)
        for key in step.closes:
            self._connections.forget(key)
        for event in step.events:
            self.events.append(event)
            if isinstance(event, events.GrowAccepted):
                for task in event.workers:
                    self._start(task, event.order)
            elif isinstance(event, events.ResizeExpired):
                self.tasks.kill(*event.workers)
        self._changed.notify_all()
