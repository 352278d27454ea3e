"""The calls of this program's event loops to a cluster's brokers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from minicluster.instance.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.instance.port import Instance

T = TypeVar("T")
POLL_INTERVAL = 0.05
"""Seconds."""


class Brokers:
    """Calls to the instance from an event loop: each in a thread, over one connection that is opened anew."""

    def __init__(self, uri: str, engine: str) -> None:
        self._uri = uri
        self._engine = engine
        self._instance: Instance | None = None

    async def call(self, ask: Callable[[Instance], T]) -> T:
        """Return what `ask` returns. Raises InstanceError."""
        return await asyncio.to_thread(self._call, ask)

    async def online(self, ranks: range) -> None:
        """Wait until these brokers are online."""
        while not await asyncio.to_thread(self._are_online, ranks):
            await asyncio.sleep(POLL_INTERVAL)

    def close(self) -> None:
        """Hang up."""
        if self._instance is not None:
            self._instance.close()
            self._instance = None

    def _call(self, ask: Callable[[Instance], T]) -> T:
        if self._instance is None:
            from minicluster.instance.connection import connect

            self._instance = connect(self._uri, "flux" if self._engine == "flux" else "embedded")
        try:
            return ask(self._instance)
        except InstanceError:
            if not self._answers():
                self.close()
            raise

    def _answers(self) -> bool:
        try:
            return self._instance is not None and bool(self._instance.life.attributes())
        except InstanceError:
            return False

    def _are_online(self, ranks: range) -> bool:
        try:
            resources = self._call(lambda instance: instance.nodes.resources())
        except InstanceError:
            return False
        return set(ranks) <= set(resources.all.ranks) - set(resources.offline.ranks)
