"""Who waits for changes in this process."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CHANGED = "minicluster.changed"
"""Where the `info` of a connection has the channels that its transaction changes."""


class Channels:
    """The number of each channel's changes, and those who wait for the next one."""

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    def change(self, channels: Iterable[str]) -> None:
        """Count one change of each channel, and wake who waits for it."""
        for channel in channels:
            self._numbers[channel] += 1
            for each in self._waiting.pop(channel, ()):
                if not each.done():
                    each.set_result(None)

    def number(self, channel: str) -> int:
        """Return the number of a channel's changes."""
        return self._numbers[channel]

    def begin(self, channel: str) -> None:
        """Count as the first change of a channel that somebody asks for it."""
        if not self._numbers[channel]:
            self.change([channel])

    async def changed(self, channel: str, seen: int | None) -> int:
        """Return the channel's number once it is not `seen`; None is the number now."""
        seen = self._numbers[channel] if seen is None else seen
        while self._numbers[channel] == seen:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(channel, set()).add(waiting)
            try:
                await waiting
            finally:
                self._waiting.get(channel, set()).discard(waiting)
        return self._numbers[channel]
