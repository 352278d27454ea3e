"""What many ask of an instance at once: asked once a second, and answered from memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Broker, QueueResources, QueueStats, QueueStatus

T = TypeVar("T")


class NodesSnapshot(NamedTuple):
    """The nodes of an instance."""

    brokers: list[Broker]
    resources: QueueResources


class QueuesSnapshot(NamedTuple):
    """The queues of an instance, and the numbers of all jobs."""

    queues: list[QueueStatus]
    stats: QueueStats


def nodes(instance: Instance) -> NodesSnapshot:
    """Return the nodes now."""
    return NodesSnapshot(instance.nodes.brokers(), instance.nodes.by_queue())


def queues(instance: Instance) -> QueuesSnapshot:
    """Return the queues now."""
    return QueuesSnapshot(instance.queues.all(), instance.queues.stats())


class CachedSnapshot(Generic[T]):
    """A value that is loaded anew when it is asked for and older than an age; once, however many ask."""

    def __init__(self, load: Callable[[], Awaitable[T]], age: float, now: Callable[[], float]) -> None:
        self._load = load
        self._age = age
        self._now = now
        self._value: T | None = None
        self._at = 0.0
        self._lock = asyncio.Lock()

    async def get(self) -> T:
        """Return the value. Raises what loading it raises."""
        value = self._fresh()
        if value is not None:
            return value
        async with self._lock:
            value = self._fresh()
            if value is None:
                at = self._now()
                value = self._value = await self._load()
                self._at = at
            return value

    def _fresh(self) -> T | None:
        return self._value if 0 <= self._now() - self._at < self._age else None

    def forget(self) -> None:
        """Load it anew at the next use: it was changed."""
        self._value = None
