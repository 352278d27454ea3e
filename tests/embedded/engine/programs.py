"""Programs of malleable jobs as an engine on a bench sees them: the messages that they send and receive."""

from __future__ import annotations

import json
from typing import Any

from minicluster.malleable.credentials import proof

JSON = dict[str, Any]


class Listener:
    """Keeps what the instance sends over each connection."""

    def __init__(self) -> None:
        self.sent: dict[int, list[JSON]] = {}
        self.gone: list[int] = []
        self.callers: Any = None

    def open(self, callers: Any) -> str:
        self.callers = callers
        return "lead:7"

    def send(self, connection: int, data: bytes) -> None:
        self.sent.setdefault(connection, []).extend(map(json.loads, data.splitlines()))

    def hang_up(self, connection: int) -> None:
        self.gone.append(connection)

    def close(self) -> None:
        pass


class Program:
    """Speaks for a job, as `minicluster.malleable`'s client would."""

    def __init__(self, bench: Any, jobid: int) -> None:
        self.bench, self.id = bench, jobid
        self.listener: Listener = bench.listener
        launch = next(each for each in bench.executor.launches if each.id == jobid)
        self.credentials: JSON = json.loads(launch.credentials)
        self.connection = self._connect()
        self.send_message(
            "register", version=1, job=self.credentials["job"], mac=self._mac(self.connection, "register")
        )

    def _connect(self) -> int:
        connection = len(self.listener.sent) + 1
        self.listener.callers.opened(connection)
        return connection

    def _mac(self, connection: int, *claims: Any) -> str:
        nonce = self.listener.sent[connection][0]["nonce"]
        verb, *others = claims
        return proof(self.credentials["token"], nonce, verb, self.credentials["job"], *others)

    def send_message(self, kind: str, connection: int | None = None, **fields: Any) -> None:
        line = json.dumps({"type": kind, **fields}).encode() + b"\n"
        self.listener.callers.received(connection or self.connection, line)
        self.bench.loop.turn()

    @property
    def last_message(self) -> JSON:
        """Return the latest message that the program received."""
        return self.listener.sent[self.connection][-1]

    @property
    def session(self) -> Any:
        """The instance's session of the program."""
        return self.listener.callers._programs[self.id].session

    def join(self, task: int, order: int) -> None:
        """Join as a worker that was started."""
        connection = self._connect()
        mac = self._mac(connection, "join", task, order, "a:1")
        claims = {"task": task, "order": order, "address": "a:1"}
        self.send_message("join", connection, version=1, job=self.credentials["job"], mac=mac, **claims)

    def end(self, *tasks: int) -> None:
        """Report, as the executor does, that tasks ended."""
        for task in tasks:
            self.bench.engine.events.task_ended(self.id, task)
        self.bench.loop.turn()

    def leave(self) -> None:
        """Lose the connection."""
        self.listener.callers.closed(self.connection)
        self.bench.loop.turn()
