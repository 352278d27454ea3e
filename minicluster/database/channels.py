"""Who waits for changes in this process."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Channels:
    """The number of each channel's changes, and those who wait for the next one."""

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    def number(self, channel: str) -> int:
        """Return the number of changes so far; the first is that somebody asked."""
        if channel not in self._numbers:
            self._numbers[channel] = 1
        return self._numbers[channel]

    def change(self, channels: Iterable[str]) -> None:
        """Count one change of each channel, and wake who waits for it."""
        for channel in channels:
            self._numbers[channel] = self.number(channel) + 1
            for each in self._waiting.pop(channel, ()):
                if not each.done():
                    each.set_result(None)

    async def changed(self, channel: str, seen: int | None) -> int:
        """Return the channel's number once it is not `seen`; None is the number now."""
        seen = self.number(channel) if seen is None else seen
        while self.number(channel) == seen:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(channel, set()).add(waiting)
            try:
                await waiting
            finally:
                self._waiting.get(channel, set()).discard(waiting)
        return self.number(channel)
