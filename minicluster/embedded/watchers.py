"""Who waits for something to be written about a job, and who listens to all events (the journal)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

JOURNAL_LIMIT = 100_000  # events that a listener may be behind before it is cut off
Listener = asyncio.Queue[tuple[int, dict[str, Any]] | None]


class Watchers:
    """Wakes readers once what they wait for can be read from the store."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}
        self._listeners: dict[Listener, Container[str] | None] = {}

    def post(self, job: int, entry: dict[str, Any]) -> None:
        """Hand an event to the listeners."""
        for listener, allow in tuple(self._listeners.items()):
            if allow is not None and entry["name"] not in allow:
                continue
            if listener.qsize() >= JOURNAL_LIMIT:
                del self._listeners[listener]
                listener.put_nowait(None)
            else:
                listener.put_nowait((job, entry))

    def subscribe(self, allow: Container[str] | None = None) -> Listener:
        """Every event (of these names) from now on; None where the listener fell too far behind."""
        listener: Listener = asyncio.Queue()
        self._listeners[listener] = allow
        return listener

    def unsubscribe(self, listener: Listener) -> None:
        """The listener wants no more."""
        self._listeners.pop(listener, None)

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
