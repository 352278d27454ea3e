"""The state of the instance: quorum, run, cleanup, shutdown."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from broker_config.formats import broker_state
from minicluster.embedded.log import INFO

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from minicluster.embedded.log import Log
    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import Registry, RpcRequest


class InstanceState:
    """Answers state-machine.*."""

    def __init__(self, log: Log, registry: Registry) -> None:
        self.name = "quorum"
        self._log = log
        self._since = time.time()
        self._entered = asyncio.Event()
        registry.register("state-machine.get", self._get)
        registry.register("state-machine.monitor", self._monitor)

    def enter(self, name: str) -> None:
        """Enter a state."""
        self._log(INFO, f"{self.name}->{name} {time.time() - self._since:.3f}s", "state-machine")
        self.name, self._since = name, time.time()
        self._entered.set()
        self._entered = asyncio.Event()

    async def _get(self, _request: RpcRequest) -> JSON:
        return {"state": self.name, "duration": time.time() - self._since}

    async def _monitor(self, _request: RpcRequest) -> AsyncIterator[JSON]:
        """Yield Flux's number of each state when it is entered."""
        while True:
            entered = self._entered
            yield {"state": broker_state.NAMES.index(self.name)}
            await entered.wait()
