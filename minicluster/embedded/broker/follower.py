"""A follower: a broker of another rank than 0."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from broker_config.formats import hostlist
from minicluster.embedded.broker.base import BrokerBase
from minicluster.embedded.broker.forwarding import FollowerSide
from minicluster.embedded.execution import broker_cpus
from minicluster.embedded.execution.rank.tasks import Tasks
from minicluster.embedded.log import CRIT, DEBUG, INFO
from minicluster.embedded.overlay.overlay import FollowerOverlay

if TYPE_CHECKING:
    from minicluster.embedded.errors import BootError


class FollowerProcess(BrokerBase):
    """A broker that runs tasks for the lead, and forwards requests to it."""

    async def run(self) -> int:
        """Live until the lead, the link or a signal ends it; return the exit code."""
        self._code = 0
        overlay = self._overlay = FollowerOverlay(self.position.boot, self.log, self.timing)
        overlay.about = broker_cpus.found().fields()
        overlay.ended = self._ended
        self.registry.fallback = FollowerSide(overlay).forward
        tasks = Tasks(overlay, self.task_settings())
        await self.open()
        try:
            overlay.open()
            self._naming = asyncio.ensure_future(self._take_names())
            await self.end.wait()
            self._naming.cancel()
            await tasks.end_all()
            overlay.goodbye("shutdown")
        finally:
            overlay.close()
            await self.close()
        return self._code

    async def _take_names(self) -> None:
        welcome = await asyncio.shield(self._overlay.welcome)
        self.attributes.set("hostlist", hostlist.encode(welcome["hosts"]))
        self.attributes.set("hostname", welcome["hosts"][self.rank])
        self.log(INFO, f"joined {self.position.boot.connect} as rank {self.rank}")

    def _ended(self, error: BootError | None) -> None:
        if not self.end.is_set():
            if error is not None:
                self._code = 1
                self.log(CRIT, str(error), "overlay")
            else:
                self.log(DEBUG, "the lead ended the instance", "overlay")
            self.end.set()

    def terminate(self, signum: int) -> None:
        """Leave the instance: the lead gives this rank no more work, and fails the jobs that ran there."""
        self.log(INFO, f"{signal.Signals(signum).name}: administrative shutdown")
        self._overlay.goodbye("administrative shutdown")
        self.end.set()
