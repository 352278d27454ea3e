"""Closes queues of slots whose ranks are gone: on Kubernetes the lead's server does it (decision 0064)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from minicluster.instance.errors import InstanceError
from minicluster.lead_server.slot_queues import SlotQueues

if TYPE_CHECKING:
    from minicluster.instance.port import Instance
    from minicluster.local.brokers import Brokers

INTERVAL = 1.0
"""Seconds between two looks at who is online."""


class SlotWatch:
    """Looks after the slots of one cluster."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._slots: SlotQueues | None = None
        """None: the lead is another one than before, or did not answer."""
        self._online = ""

    async def run(self) -> None:
        """Look for ever; hang up in the end."""
        try:
            while True:
                try:
                    await self._brokers.call(self._poll)
                except InstanceError:
                    self._slots = None
                await asyncio.sleep(INTERVAL)
        finally:
            self._brokers.close()

    def _poll(self, instance: Instance) -> None:
        with instance.links.borrowed() as link:
            slots = self._slots
            if slots is None:
                slots, self._online = SlotQueues(), ""
                slots.follow(link)
                self._slots = slots
            online = str(link.rpc("resource.status", {})["online"])
            if online != self._online:
                slots.see(online)
                self._online = online
            slots.close_lost(link)
