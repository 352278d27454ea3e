"""Which brokers are online, as the lead sees it: they join and leave, and overlay.* requests list them."""

from __future__ import annotations

import asyncio
import errno
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_config.formats import hostlist, idset
from minicluster.embedded.errors import RpcError
from minicluster.embedded.execution.broker_cpus import found, of_fields

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from minicluster.embedded.execution.lead.cpu_table import CpuTable
    from minicluster.embedded.jobs.resource_status import ResourceStatus
    from minicluster.embedded.overlay.overlay import LeadOverlay
    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import Registry, RpcRequest


@dataclass(slots=True)
class Standing:
    """One rank's status."""

    status: str
    """offline, full or lost."""
    since: float
    error: str | None = None
    """Why the rank left."""


class Membership:
    """Keeps the status of all ranks, and reports those that join or leave to the engine."""

    def __init__(
        self, overlay: LeadOverlay, engine: ResourceStatus, hosts: Sequence[str], cpus: CpuTable
    ) -> None:
        self.on_gone: Sequence[Callable[[int], None]] = ()
        self.on_change: Callable[[int], None] = lambda _online: None
        self._overlay = overlay
        self._engine = engine
        self._hosts = hosts
        self._cpus = cpus
        self._ranks = {rank: Standing("offline", time.time()) for rank in range(len(hosts))}
        self._changed = asyncio.Event()

    def begin(self) -> None:
        """Add the lead itself, and followers when they join."""
        self._overlay.joined = self._join
        self._overlay.left = self._leave
        self._join(0, self._hosts[0])
        for rank, peer in self._overlay.peers.items():  # those that joined before the engine was ready
            self._join(rank, peer.host)

    def _join(self, rank: int, host: str) -> None:
        self._ranks[rank] = Standing("full", time.time())
        cpus = of_fields(self._overlay.peers[rank].hello) if rank else found()
        for each, domains in self._cpus.join(rank, cpus).items():
            self._engine.set_domains(each, domains)
        self._engine.rank_up(rank, host)
        self._notify()

    def _leave(self, rank: int, reason: str, lost: bool) -> None:
        self._ranks[rank] = Standing("lost" if lost else "offline", time.time(), reason)
        self._engine.rank_down(rank, reason)
        for callback in self.on_gone:
            callback(rank)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        self.on_change(self.online)

    @property
    def online(self) -> int:
        """Return how many brokers are online."""
        return sum(standing.status == "full" for standing in self._ranks.values())

    def offline(self) -> str:
        """Return the hosts that are offline."""
        return hostlist.encode(self._hosts[rank] for rank, its in self._ranks.items() if its.status != "full")

    def register(self, registry: Registry) -> None:
        """Serve overlay.health, overlay.stats-get and groups.get."""
        registry.register("overlay.health", self._health)
        registry.register("overlay.stats-get", self._stats)
        registry.register("groups.get", self._group)

    async def _group(self, request: RpcRequest) -> AsyncIterator[JSON]:
        """groups.get: the online ranks, now and on each change; there is no other group."""
        if request.payload.get("name") != "broker.online":
            raise RpcError(errno.ENOENT, "the only group is broker.online")
        while True:
            changed = self._changed
            full = (rank for rank, standing in self._ranks.items() if standing.status == "full")
            yield {"members": idset.encode(full)}
            await changed.wait()

    def _node_health(self, rank: int) -> JSON:
        its = self._ranks[rank]
        health = {"rank": rank, "status": its.status, "duration": time.time() - its.since}
        return health | ({"error": its.error} if its.error else {})

    async def _health(self, _request: RpcRequest) -> JSON:
        followers = [self._node_health(rank) for rank in self._ranks if rank]
        statuses = {each["status"] for each in followers}
        status = "full" if statuses <= {"full"} else "degraded" if "lost" in statuses else "partial"
        return {**self._node_health(0), "status": status, "children": followers}

    async def _stats(self, _request: RpcRequest) -> JSON:
        refused = self._overlay.refused
        return {
            "child-connected": self.online - 1,
            "lost": self._overlay.lost,
            "refused": sum(refused.values()),
            "refused-addresses": refused,
            "turned-away": self._overlay.rejected_peers.fresh(),
        }
