"""A number of slots for work; the namespaces that wait for one take turns."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """At most `number` slots are held at a time.

    A namespace that waits behind others gets a slot after one of each of them, however many they wait for.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by namespace, the next one first

    async def acquire(self, namespace: str) -> None:
        """Hold a slot once there is one."""
        if self._free:
            self._free -= 1
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(namespace, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.release()  # it was given in the same moment
            raise

    def release(self) -> None:
        """Give a slot back: to the namespace whose turn it is."""
        while self._waiting:
            namespace = next(iter(self._waiting))
            waiters = self._waiting.pop(namespace)
            granted = waiters.popleft()
            if waiters:
                self._waiting[namespace] = waiters  # behind all others
            if not granted.done():
                granted.set_result(None)
                return
        self._free += 1
