"""Readers that wait for new data of a job, and listeners to all events (the journal)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, NamedTuple

from minicluster.embedded.services import Encoded

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from minicluster.embedded.ports import JSON

JOURNAL_LIMIT = 100_000  # events that a listener may be behind before it is cut off
NEVER = float("-inf")
_COMPACT = json.JSONEncoder(separators=(",", ":")).encode


class Posted(NamedTuple):
    """An event of the journal, encoded."""

    job: int
    name: str
    line: str
    """The event as JSON."""
    data: Mapping[str, str]
    """Further members of its item (jobspec, R), as JSON."""


class EventBuffer:
    """One listener's events since it took the last ones; it gets them at most every `gather` seconds."""

    def __init__(self, allow: Container[str] | None, gather: float) -> None:
        self._allow = allow
        self._gather = gather
        self._taken = NEVER
        self._posted: list[Posted] = []
        self._news = asyncio.Event()
        self._flushed = asyncio.Event()
        self._cut_off = False

    def wants(self, name: str) -> bool:
        """Return whether the listener wants events of that name."""
        return self._allow is None or name in self._allow

    def put(self, posted: Posted) -> bool:
        """Add an event, if it is wanted; return False where the listener is too far behind, and cut off."""
        if self.wants(posted.name):
            self._cut_off = len(self._posted) >= JOURNAL_LIMIT
            if not self._posted:
                self._flushed.clear()
            if not self._cut_off:
                self._posted.append(posted)
            self._news.set()
        return not self._cut_off

    async def take(self) -> list[Posted]:
        """Wait for events and return all that came, in order; an empty list once the listener is cut off."""
        if not (self._posted or self._cut_off):
            self._news.clear()
            await self._news.wait()
        clock = asyncio.get_running_loop().time
        if (left := self._taken + self._gather - clock()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._flushed.wait()
        self._taken = clock()
        posted, self._posted = self._posted, []
        return posted

    def flush(self) -> bool:
        """End the current wait of `gather` seconds; return whether there are events."""
        self._flushed.set()
        return bool(self._posted)


class Watchers:
    """Wakes readers once what they wait for can be read from the store."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}
        self._listeners: list[EventBuffer] = []

    def post(self, job: int, name: str, line: str, data: Mapping[str, JSON | Encoded]) -> None:
        """Pass an event with its data to the listeners."""
        if any(listener.wants(name) for listener in self._listeners):
            posted = Posted(job, name, line, {key: _text(value) for key, value in data.items()})
            self._listeners = [listener for listener in self._listeners if listener.put(posted)]

    def subscribe(self, allow: Container[str] | None = None, gather: float = 0.0) -> EventBuffer:
        """Return a buffer of all events (of these names) from now on, gathered for so many seconds."""
        listener = EventBuffer(allow, gather)
        self._listeners.append(listener)
        return listener

    def flush(self) -> bool:
        """Have the listeners take their events in the loop's next turn; return whether any has events."""
        gathering = [listener.flush() for listener in self._listeners]
        return any(gathering)

    def unsubscribe(self, listener: EventBuffer) -> None:
        """Remove a listener."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def wake(self, jobs: Iterable[int]) -> None:
        """Wake the readers that wait for new data of these jobs."""
        if not self._waiting:
            return
        for job in jobs:
            for waiter in self._waiting.pop(job, ()):
                if not waiter.done():
                    waiter.set_result(None)

    def changed(self, job: int) -> asyncio.Future[None]:
        """Return a future that is done when new data of the job was written."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(job, []).append(waiter)
        waiter.add_done_callback(lambda done: self._forget(job, done))
        return waiter

    def _forget(self, job: int, waiter: asyncio.Future[None]) -> None:
        waiters = self._waiting.get(job, [])
        if waiter in waiters:
            waiters.remove(waiter)
            if not waiters:
                del self._waiting[job]


def _text(value: JSON | Encoded) -> str:
    return value.text if isinstance(value, Encoded) else _COMPACT(value)
