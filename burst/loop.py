"""What a service does for ever: looks at MiniClusters, takes their bursts on, and plans further ones."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from burst.automatic import plan_all
from burst.costs import alarm_log
from burst.costs.alarm_log import ALARM_INTERVAL, AlarmLog
from burst.errors import LeaseLost
from burst.ledger import bursts
from burst.service import BurstService
from minicluster.backends.errors import BackendError
from minicluster.database import DatabaseAway, DatabaseFull

if TYPE_CHECKING:
    from collections.abc import Sequence

    from burst.clusters.records import BurstingCluster
    from burst.lifecycle.records import BurstRecord
    from burst.workplace import Workplace

TICK = 2.0
"""Seconds between two looks at bursts, where nobody asks for anything."""
PLAN_INTERVAL = 10.0
"""Seconds between two looks at what waits."""
_log = logging.getLogger(__name__)


class BurstLoop:
    """One service's loop, whether it is on this machine or in a cluster."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._planned = self._alarmed = 0.0
        self._alarms = AlarmLog()
        self.service = BurstService(workplace.context)
        self.ended: float | None = None
        """When the last tick has ended, in seconds since 1970."""
        self.done: float | None = None
        """When the last one has ended that did all there was to do."""
        self.clusters: Sequence[BurstingCluster] = ()
        """The MiniClusters, as they were found the last time."""
        self.trouble = ""
        """Why the last tick did not, for anybody to read; empty: it did."""

    async def run(self, over: asyncio.Event) -> None:
        """Work until the event is set, and let another process have the lease of the ledger then.

        Raises DatabaseError where the database cannot be used as it is.
        """
        while not over.is_set():
            await self._tick()
            await self._pause(over)
        await self._workplace.ledger.release()

    async def _pause(self, over: asyncio.Event) -> None:
        """Wait for the next tick, which comes at once where somebody asks for something."""
        begun = [asyncio.ensure_future(each) for each in (over.wait(), self._workplace.ledger.requested())]
        try:
            await asyncio.wait(begun, timeout=TICK, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in begun:
                each.cancel()
            await asyncio.gather(*begun, return_exceptions=True)

    async def _tick(self) -> None:
        now = self._workplace.ledger.now()
        try:
            await self._work(now)
        except LeaseLost as error:
            _log.debug("another process serves: %s", error)
            self.trouble = "another process has the lease of the ledger"
        except BackendError as error:
            _log.warning("tried again: %s", error)
            self.trouble = "MiniClusters cannot be listed now"
        except (DatabaseAway, DatabaseFull) as error:
            _log.warning("tried again: %s", error)
            self.trouble = "the ledger cannot be used now"
        else:
            self.trouble = ""
            self.done = self._workplace.ledger.now()
        self.ended = self._workplace.ledger.now()

    async def _work(self, now: float) -> None:
        """Do what is to be done now."""
        workplace = self._workplace
        self.clusters = clusters = await workplace.clusters()
        await self.service.tick()
        opened = await workplace.ledger.read(bursts.opened)
        await self._publish(opened)
        await workplace.withdraw(opened)
        if now - self._planned >= PLAN_INTERVAL:
            await plan_all(workplace.planner, clusters)
            self._planned = now
            await self.service.tick()  # what was asked for just now is made at once
        if now - self._alarmed >= ALARM_INTERVAL:
            settings = workplace.settings.settings
            self._alarms.note(await alarm_log.read(workplace.context, settings, self.service.listed))
            self._alarmed = now

    async def _publish(self, opened: Sequence[BurstRecord]) -> None:
        """Show bursts where their MiniClusters are; nothing else waits until that can be done."""
        try:
            await self._workplace.publish(opened)
        except BackendError as error:
            _log.warning("bursts cannot be shown, tried again: %s", error)
