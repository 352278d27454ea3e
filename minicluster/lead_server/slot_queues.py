"""Queues of slots for bursts, which the lead closes by itself once ranks of a slot are gone.

Under strict order a job at the head of the queue that can start no more holds up every job behind it, those
for the MiniCluster's own nodes too. The burst service closes such a queue as well, but it may be dead just
then. It starts the queue again once all ranks are back, and have been tried anew.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from broker_config.formats import idset, resource_set
from minicluster.broker_link.errors import Refused

if TYPE_CHECKING:
    from minicluster.broker_link.link import JSON, BrokerLink

INTERVAL = 10.0
"""Seconds after which queues are looked at again, at least: somebody may have started one."""
RETRY_INTERVAL = 1.0
"""Seconds after which what was refused is tried again."""
TIMEOUT = 10.0
"""Seconds that the broker has for one answer."""


class SlotQueues:
    """The slots of an instance whose bursts are managed; elsewhere there are none, and nothing is asked."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._online: frozenset[int] | None = None
        """None: it is not known yet."""
        self._left: frozenset[int] = frozenset()
        """Ranks that have gone since the queues were looked at."""
        self.lost = False
        """Whether a queue has to be closed, and could not be."""
        self._due = 0.0
        """When all is looked at again, though nothing was reported (time.monotonic)."""

    def follow(self, link: BrokerLink) -> None:
        """Begin anew, with another link. Raises Refused."""
        try:
            config = link.rpc("config.get", {}, TIMEOUT)
        except Refused:
            config = {}
        table = config.get("minicluster", {}).get("bursting", {})
        self._names = tuple(table.get("slots", ()))
        self._online, self._left, self.lost = None, frozenset(), bool(self._names)

    def pause(self, usual: float) -> float:
        """Return in how many seconds queues are to be looked at again, at most `usual`."""
        if not self._names:
            return usual
        return min(usual, RETRY_INTERVAL if self.lost else INTERVAL)

    def see(self, online: str) -> None:
        """Note which ranks (an idset) are online now."""
        if self._names:
            found = frozenset(idset.decode(online) if online else ())
            self._left = (self._left | ((self._online or frozenset()) - found)) - found
            self._online = found
            self._due = 0.0

    def close_lost(self, link: BrokerLink) -> None:
        """Stop each started queue of a slot that has lost ranks, or has none."""
        if not self._names or self._online is None or time.monotonic() < self._due:
            return
        try:
            ranks = self._ranks(link)
            for name in self._names:
                self._close(link, name, ranks.get(name, frozenset()))
        except Refused:
            self.lost = True  # it is tried again
            return
        self._left, self.lost = frozenset(), False
        self._due = time.monotonic() + INTERVAL

    def _ranks(self, link: BrokerLink) -> dict[str, frozenset[int]]:
        """Return the ranks of each slot. Raises Refused."""
        resources = link.rpc("resource.status", {}, TIMEOUT).get("R")
        nodes = resource_set.nodes_of(resources) if resources else []
        return {
            name: frozenset(node.rank for node in nodes if name in node.properties) for name in self._names
        }

    def _close(self, link: BrokerLink, name: str, ranks: frozenset[int]) -> None:
        """Stop a slot's queue, if it is started and ranks are gone. Raises Refused."""
        gone = ranks & self._left
        if not gone and (not ranks or ranks & (self._online or frozenset())):
            return
        status = link.rpc("job-manager.queue-status", {"name": name}, TIMEOUT)
        if status.get("start") is False:
            return
        payload: JSON = {"name": name, "start": False, "all": False, "reason": _reason(gone)}
        link.rpc("job-manager.queue-start", payload, TIMEOUT)


def _reason(gone: frozenset[int]) -> str:
    which = f"ranks {idset.encode(gone)} are" if len(gone) > 1 else f"rank {min(gone)} is" if gone else ""
    what = f"{which} gone" if which else "none of its nodes is there"
    return f"{what}: it is started again once they are back and have been tried"
