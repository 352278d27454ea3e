"""Who waits for something to be written about a job, and who listens to all events (the journal)."""

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
    """An event as the journal tells it, in JSON: its line, and what goes with it (jobspec, R)."""

    job: int
    name: str
    line: str
    data: Mapping[str, str]


class EventBuffer:
    """Gathers the events that were posted since it took some; it does so at most every `gather` seconds."""

    def __init__(self, allow: Container[str] | None, gather: float) -> None:
        self._allow = allow
        self._gather = gather
        self._taken = NEVER
        self._posted: list[Posted] = []
        self._news = asyncio.Event()
        self._flushed = asyncio.Event()
        self._cut_off = False

    def wants(self, name: str) -> bool:
        """Whether events of that name are for it."""
        return self._allow is None or name in self._allow

    def put(self, posted: Posted) -> bool:
        """Keep an event that is wanted; False: it is too far behind, and gets no more."""
        if self.wants(posted.name):
            self._cut_off = len(self._posted) >= JOURNAL_LIMIT
            if not self._posted:
                self._flushed.clear()
            if not self._cut_off:
                self._posted.append(posted)
            self._news.set()
        return not self._cut_off

    async def take(self) -> list[Posted]:
        """Wait for events and return all that came, in their order; none: it was cut off after them."""
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
        """Gather no longer; return whether anything was gathered."""
        self._flushed.set()
        return bool(self._posted)


class Watchers:
    """Wakes readers once what they wait for can be read from the store."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}
        self._listeners: list[EventBuffer] = []

    def post(self, job: int, name: str, line: str, data: Mapping[str, JSON | Encoded]) -> None:
        """Hand an event to the listeners, with what goes with it."""
        if any(listener.wants(name) for listener in self._listeners):
            posted = Posted(job, name, line, {key: _text(value) for key, value in data.items()})
            self._listeners = [listener for listener in self._listeners if listener.put(posted)]

    def subscribe(self, allow: Container[str] | None = None, gather: float = 0.0) -> EventBuffer:
        """Every event (of these names) from now on, gathered for so many seconds."""
        listener = EventBuffer(allow, gather)
        self._listeners.append(listener)
        return listener

    def flush(self) -> bool:
        """Have the listeners take what they gather, in the loop's next turn; return whether any gathers."""
        gathering = [listener.flush() for listener in self._listeners]
        return any(gathering)

    def unsubscribe(self, listener: EventBuffer) -> None:
        """The listener wants no more."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def wake(self, jobs: Iterable[int]) -> None:
        """Something was written about these jobs."""
        if not self._waiting:
            return
        for job in jobs:
            for waiter in self._waiting.pop(job, ()):
                if not waiter.done():
                    waiter.set_result(None)

    def changed(self, job: int) -> asyncio.Future[None]:
        """A future that is done when something was written about the job."""
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
