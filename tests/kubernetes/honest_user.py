"""A user who means no harm: creates one MiniCluster after the other, and notes how long each waits."""

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from tests.devcluster import Api, until
from tests.kubernetes import operators

POLL_INTERVAL = 0.02
INTERVAL = 0.25
"""Seconds from one's status to the next one's creation."""
REQUESTS = 8
"""For what the operator waits, one after the other, until a status is written: an event, and seven writes."""


@dataclass(frozen=True, slots=True)
class Wait:
    """How many seconds passed from a creation's answer to the status; of them, what the machine took.

    `starved`: while the operator could have run, and other processes did. `slowest`: what one request of a
    plain client took meanwhile.
    """

    name: str
    passed: float
    starved: float
    slowest: float

    @property
    def of_operator(self) -> float:
        """The seconds that a busy machine and a busy API server do not explain."""
        return self.passed - self.starved - REQUESTS * self.slowest


class ThreadTimes(NamedTuple):
    """For how many seconds a process's first thread ran, and could have run while the machine ran others."""

    ran: float = 0.0
    starved: float = 0.0


def thread_times(pid: int) -> ThreadTimes:
    """Return the times of a process; none where the machine does not count them."""
    counts = Path(f"/proc/{pid}/schedstat")
    if not counts.exists():
        return ThreadTimes()
    ran, starved, _ = counts.read_text().split()
    return ThreadTimes(int(ran) / 1e9, int(starved) / 1e9)


class Served(Protocol):
    """The operator that serves."""

    def starved(self) -> float:
        """Return for how many seconds it was ready to run while the machine ran others."""
        ...

    def blocked(self) -> float:
        """Return for how many seconds it computed now before it answered."""
        ...


class HonestUser:
    """Works in a thread; while it waits it looks whether the operator answers."""

    def __init__(self, api: Api, namespace: str, operator: Served) -> None:
        self._api = Api(api.access)  # of its own: it waits for no request of others
        self._namespace = namespace
        self._operator = operator
        self._is_over = threading.Event()
        self.waits: list[Wait] = []
        self.blocks: list[float] = []

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Have it work for as long as the block takes, which begins once one is served.

        The first one waits for an operator that is still beginning, and does not count.
        """
        self._served("first")
        self.blocks.clear()
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(self._work)
            try:
                until(lambda: self.waits or work.done(), "the operator to serve anybody", operators.SECONDS)
                yield
            finally:
                self._is_over.set()
            work.result()

    def _work(self) -> None:
        try:
            while not self._is_over.wait(INTERVAL):
                self.waits.append(self._served(f"honest-{len(self.waits)}"))
        finally:
            self._api.hang_up()

    def _served(self, name: str) -> Wait:
        operators.create(self._api, self._namespace, name, size=1, maxSize=0)
        begin, starved = time.monotonic(), self._operator.starved()
        slowest = 0.0

        def is_created() -> bool:
            nonlocal slowest
            self.blocks.append(self._operator.blocked())
            asked = time.monotonic()
            found = operators.read(self._api, self._namespace, name)
            slowest = max(slowest, time.monotonic() - asked)
            return operators.conditions(found).get("ResourcesCreated") == ("True", "Created")

        until(is_created, f"{name} to have all its objects", operators.SECONDS, POLL_INTERVAL)
        return Wait(name, time.monotonic() - begin, self._operator.starved() - starved, slowest)
