"""How many leads are connected to at a time: those that keep us waiting are not in the others' way."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from minicluster.kube_client.objects import Name

Kind = Literal["stream", "command"]

MAX_CONNECTING = 64
"""How many leads are connected to at a time for their stream, and as many again with a command."""
MAX_SLOW_CONNECTING = 16
"""How many of those that were slow the last time, for either."""
SLOW_AFTER = 2.0
"""Seconds after which a lead is slow to answer."""


class LeadSlots:
    """The slots that connections are begun in. A lead that was slow waits for the others that were."""

    def __init__(self, is_followed: Callable[[Name], bool]) -> None:
        self._is_followed = is_followed
        self._slow: set[tuple[Name, Kind]] = set()  # one that is quick to report may be slow with commands
        self._slow_slots = asyncio.Semaphore(MAX_SLOW_CONNECTING)
        self._slots: dict[Kind, asyncio.Semaphore] = {
            "stream": asyncio.Semaphore(MAX_CONNECTING),
            "command": asyncio.Semaphore(MAX_CONNECTING),
        }

    def forget(self, name: Name) -> None:
        """Forget how slow the lead of a MiniCluster was: it is another one now, or gone."""
        self._slow -= {(name, "stream"), (name, "command")}

    @asynccontextmanager
    async def use(self, name: Name, kind: Kind) -> AsyncIterator[None]:
        """Wait for a slot; how long it is used decides whether this lead is slow the next time."""
        which = name, kind
        clock = asyncio.get_running_loop().time
        async with self._slow_slots if which in self._slow else self._slots[kind]:
            begin = clock()
            try:
                yield
            finally:
                if clock() - begin >= SLOW_AFTER and self._is_followed(name):
                    self._slow.add(which)
            if clock() - begin < SLOW_AFTER:
                self._slow.discard(which)
