"""An instance that is played: the real session and exchange on a real socket, tasks as the test says.

Its clock stands still until the test moves it, so that limits are over at once.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import socket
import subprocess
import threading
from typing import TYPE_CHECKING, TypeVar

from minicluster.malleable import events
from minicluster.malleable.credentials import Credentials
from minicluster.malleable.exchange import Exchange
from minicluster.malleable.session import Limits, Session
from minicluster.malleable.variables import ORDER_VARIABLE, PATH_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from minicluster.malleable.events import Event, Step

E = TypeVar("E")
DEADLINE = 60.0


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
        self.events: list[Event] = []
        self.tasks: dict[int, subprocess.Popen[str]] = {}
        self._start = start
        self._changed = threading.Condition()
        self._sockets: dict[int, socket.socket] = {}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._threads: list[threading.Thread] = []
        address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        token = secrets.token_hex(32)
        self.session = Session("ƒplayed", token, least, most, {n: f"h{n}" for n in range(size)}, limits)
        self.exchange = Exchange()
        self.exchange.add(self.session)
        self.credentials = Credentials(address, "ƒplayed", token)
        self.path = directory / f"malleable-{token[:6]}.json"
        self.path.write_text(self.credentials.text())
        self._thread(self._serve)

    # What a test does.

    def environment(self, task: int = 0, order: int = 0) -> dict[str, str]:
        """What a task of the job finds in its environment."""
        own = {PATH_VARIABLE: str(self.path), "FLUX_TASK_RANK": str(task)}
        return {**own, **({ORDER_VARIABLE: str(order)} if order else {})}

    def grow(self, *hosts: str) -> int:
        """Order to grow; return the order's number."""
        with self._changed:
            self._carry_out(self.session.grow(hosts, self.now))
            return self._order()

    def shrink(self, count: int = 1) -> int:
        """Order to shrink; return the order's number."""
        with self._changed:
            self._carry_out(self.session.shrink(count, self.now))
            return self._order()

    @property
    def stage(self) -> str:
        """How far the order under way is."""
        return "" if self.session.order is None else self.session.order.stage.value

    def later(self, seconds: float) -> None:
        """Let so much time pass."""
        with self._changed:
            self.now += seconds
            self._carry_out(self.session.tick(self.now))

    def ended(self, *tasks: int) -> None:
        """Tasks have ended."""
        with self._changed:
            for task in tasks:
                self._carry_out(self.session.ended(task, self.now))

    def hang_up(self) -> None:
        """Lose the program's connection."""
        with self._changed:
            self._drop(self.session.speaker.connection)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait until something is true, looked at whenever something has happened."""
        with self._changed:
            assert self._changed.wait_for(condition, DEADLINE), f"waited for {what}; had {self.events}"

    def expect(self, kind: type[E], count: int = 1) -> E:
        """Wait for the count-th event of a kind and return it."""
        self.wait(lambda: len(self._of(kind)) >= count or self._failed(), f"{count} {kind.__name__}")
        assert not self._failed(), f"tasks that failed: {self._failed()}"
        found: E = self._of(kind)[count - 1]
        return found

    def launch(self, task: int, order: int, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Run a task for real, and take note of its end."""
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment, **self.environment(task, order)},
            stdout=subprocess.PIPE,
            stderr=None,
            text=True,
            pass_fds=[int(environment["PMI_FD"])] if "PMI_FD" in environment else (),
        )
        self.tasks[task] = process
        if task:
            self._thread(lambda: (process.communicate(), self.ended(task)))

    def close(self) -> None:
        """End everything."""
        for process in self.tasks.values():
            process.kill()
        self._wake.close()
        for thread in self._threads:
            thread.join(DEADLINE)
        for process in self.tasks.values():
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        for connection in (self._listener, self._woken, *self._sockets.values()):
            connection.close()
        self._selector.close()

    # What an instance does.

    def _order(self) -> int:
        assert self.session.order is not None
        return self.session.order.id

    def _of(self, kind: type) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    def _failed(self) -> dict[int, int]:
        codes = {task: process.poll() for task, process in self.tasks.items()}
        return {task: code for task, code in codes.items() if code}

    def _thread(self, target: Callable[[], object]) -> None:
        self._threads.append(threading.Thread(target=target, daemon=True))
        self._threads[-1].start()

    def _carry_out(self, step: Step) -> None:
        for key, data in step.sends:
            with contextlib.suppress(KeyError, OSError):  # who has gone is found by reading
                self._sockets[key].sendall(data)
        for key in step.closes:
            self._forget(key)
        for event in step.events:
            self.events.append(event)
            if isinstance(event, events.Accepted):
                for task in event.workers:
                    self._start(task, event.order)
            elif isinstance(event, events.Expired):
                for task in event.workers:
                    if task in self.tasks:
                        self.tasks[task].kill()
        self._changed.notify_all()

    def _serve(self) -> None:
        for connection in (self._listener, self._woken):
            self._selector.register(connection, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    return
                with self._changed:
                    self._readable(key.fileobj)

    def _readable(self, connection: socket.socket) -> None:
        if connection is self._listener:
            taken, _ = self._listener.accept()
            self._sockets[id(taken)] = taken
            self._selector.register(taken, selectors.EVENT_READ)
            self._carry_out(self.exchange.opened(id(taken)))
            return
        try:
            data = connection.recv(65536)
        except OSError:
            data = b""
        if data:
            self._carry_out(self.exchange.received(id(connection), data, self.now))
        else:
            self._drop(id(connection))

    def _drop(self, key: object) -> None:
        self._forget(key)
        self._carry_out(self.exchange.closed(key, self.now))

    def _forget(self, key: object) -> None:
        connection = self._sockets.pop(key, None)
        if connection is not None:
            self._selector.unregister(connection)
            connection.close()
