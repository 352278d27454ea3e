"""A session with its exchange; the test plays the instance, the program and its workers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from minicluster.malleable import events
from minicluster.malleable.credentials import proof
from minicluster.malleable.exchange import Exchange
from minicluster.malleable.session import Limits, Session

if TYPE_CHECKING:
    from minicluster.malleable.events import SessionEvent

TOKEN = "token"
JOB = "ƒjob"
ENDS = (events.JobResized, events.ResizeRefused, events.ResizeExpired)


class Desk:
    """A session with its exchange, and the lines and events of both so far."""

    def __init__(self, size: int = 2, least: int = 1, most: int = 4) -> None:
        self.session = Session(
            JOB, TOKEN, least, most, {n: f"h{n}" for n in range(size)}, Limits(60, 50, 600)
        )
        self.exchange = Exchange(nonce=lambda: "nonce")
        self.exchange.add(self.session)
        self.now = 0.0
        self.events: list[SessionEvent] = []
        self.lines: dict[object, list[dict[str, Any]]] = {}
        self.closed: set[object] = set()

    def take(self, step: events.Step) -> list[SessionEvent]:
        for connection, data in step.sends:
            self.lines.setdefault(connection, []).extend(map(json.loads, data.splitlines()))
        self.closed.update(step.closes)
        self.events += step.events
        return list(step.events)

    def send(self, connection: object, **message: object) -> list[SessionEvent]:
        return self.take(self.exchange.received(connection, json.dumps(message).encode() + b"\n", self.now))

    def register(self, connection: object = "p") -> list[SessionEvent]:
        self.take(self.exchange.opened(connection))
        mac = proof(TOKEN, "nonce", "register", JOB)
        return self.send(connection, type="register", version=1, job=JOB, mac=mac)

    def join(self, task: int, order: int, connection: object = None) -> list[SessionEvent]:
        connection = connection or f"w{task}"
        self.take(self.exchange.opened(connection))
        mac = proof(TOKEN, "nonce", "join", JOB, task, order, "a:1")
        message = {"job": JOB, "mac": mac, "task": task, "order": order, "address": "a:1"}
        return self.send(connection, type="join", version=1, **message)

    def grow(self, *hosts: str) -> None:
        self.take(self.session.grow(hosts, self.now))

    def shrink(self, count: int) -> None:
        self.take(self.session.shrink(count, self.now))

    def tick(self, seconds: float) -> list[SessionEvent]:
        self.now += seconds
        return self.take(self.session.tick(self.now))

    @property
    def last(self) -> dict[str, Any]:
        return self.lines["p"][-1]
