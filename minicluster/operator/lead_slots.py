"""Limits how many connections to leads begin at a time; slow leads do not delay the others."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from minicluster.kube_client.objects import Name

SlotKind = Literal["stream", "command"]

MAX_CONNECTING = 64
"""How many connections begin at a time for streams, and as many again for commands."""
MAX_SLOW_CONNECTING = 16
"""How many of them begin at a time to leads that were slow the last time, both kinds together."""
SLOW_AFTER = 2.0
"""Seconds after which a lead counts as slow."""


class LeadSlots:
    """The slots in which connections begin. Leads that were slow the last time share fewer slots."""

    def __init__(self, is_followed: Callable[[Name], bool]) -> None:
        self._is_followed = is_followed
        self._slow: set[tuple[Name, SlotKind]] = set()  # a lead with a fast stream may run commands slowly
        self._slow_slots = asyncio.Semaphore(MAX_SLOW_CONNECTING)
        self._slots: dict[SlotKind, asyncio.Semaphore] = {
            "stream": asyncio.Semaphore(MAX_CONNECTING),
            "command": asyncio.Semaphore(MAX_CONNECTING),
        }

    def forget(self, name: Name) -> None:
        """Forget whether the lead of a MiniCluster was slow: it is gone, or another one now."""
        self._slow -= {(name, "stream"), (name, "command")}

    @asynccontextmanager
    async def use(self, name: Name, kind: SlotKind) -> AsyncIterator[None]:
        """Wait for a slot. A lead that uses it for SLOW_AFTER seconds counts as slow the next time."""
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
