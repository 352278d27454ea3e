"""Containers that are started again after a pause, which gets longer each time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from minicluster.local.pod_policy import back_off

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.local.records import EndedContainer


class ContainerRestarts:
    """Calls `restart` when the pause of a container is over."""

    def __init__(self, restart: Callable[[EndedContainer], None]) -> None:
        self._restart = restart
        self._counts: dict[str, int] = {}
        self._pending: set[asyncio.TimerHandle] = set()

    def plan(self, ended: EndedContainer) -> None:
        """Plan the restart of a container that ended."""
        key = f"{ended.pod.name}/{ended.container.name}"
        times = self._counts[key] = self._counts.get(key, -1) + 1

        def restart() -> None:
            self._pending.discard(handle)
            self._restart(ended)

        handle = asyncio.get_running_loop().call_later(back_off(times), restart)
        self._pending.add(handle)

    def __len__(self) -> int:
        """Return how many wait for their restart."""
        return len(self._pending)

    def cancel(self) -> None:
        """Cancel all planned restarts."""
        for handle in self._pending:
            handle.cancel()
        self._pending.clear()
