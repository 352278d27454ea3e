"""Which ranks are up, down, drained or used: resource.* and sched.*."""

from __future__ import annotations

import errno
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from broker_config.formats import hostlist, idset
from broker_config.formats.errors import HostlistError, IdsetError
from broker_config.formats.resource_set import encode
from minicluster.embedded import log
from minicluster.embedded.errors import RpcError
from queue_policies.nodes.node_states import replace_node
from queue_policies.records import Happened

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_config.formats.resource_set import Node
    from minicluster.embedded.jobs.job_manager import JobManager
    from minicluster.embedded.services import RpcRequest

JSON = dict[str, Any]
_META = "drain"


@dataclass(frozen=True, slots=True)
class RankDrain:
    """The drain of a rank: its time and reason."""

    timestamp: float
    reason: str


class ResourceStatus:
    """The state of every rank. Drains are kept over restarts, by host."""

    def __init__(self, manager: JobManager, clock: Callable[[], float] = time.time) -> None:
        self._manager = manager
        self._scheduler = manager.parts.scheduler
        self._pool = self._scheduler.pool
        self._nodes = manager.parts.nodes
        self._clock = clock
        self._domains_configured = "domains" in manager.parts.config.get("minicluster", {})
        self._drains: dict[int, RankDrain] = {}
        self._restore()

    # -- reports of the broker side --------------------------------------------------------------------

    def rank_up(self, rank: int, host: str) -> None:
        """The broker joined."""
        self._manager.parts.log(log.DEBUG, f"rank {rank} ({host}) is up")
        self._set_up(rank, True)

    def rank_down(self, rank: int, reason: str) -> None:
        """The broker left or was lost."""
        self._manager.parts.log(log.DEBUG, f"rank {rank} is down: {reason}")
        self._set_up(rank, False)

    def set_domains(self, rank: int, domains: tuple[int, ...]) -> None:
        """The broker joined, or others on its machine did: these are its NUMA domains, as bits of cores.

        What broker.toml says of domains is not replaced.
        """
        node = cast("Node", self._pool.nodes[rank])
        if node.domains != domains and not self._domains_configured:
            replace_node(self._pool, node._replace(domains=domains))
            self._scheduler.infeasible_reasons.clear()
            self._scheduler.changed(Happened.CLUSTER)

    def _set_up(self, rank: int, up: bool) -> None:
        if rank < len(self._nodes):
            self._pool.mark(rank, up=up)
            self._scheduler.changed(Happened.CLUSTER)
            self._manager.commits.schedule()

    # -- topics ----------------------------------------------------------------------------------------

    def status(self, _request: RpcRequest) -> JSON:
        """resource.status."""
        ranks = range(len(self._nodes))
        allocated = self._pool.allocated()
        return {
            "R": self._encode(ranks),
            "drain": self._drain_info(),
            "online": idset.encode(self._pool.up),
            "offline": idset.encode(set(ranks) - self._pool.up),
            "exclude": "",
            "torpid": "",
            "allocated": idset.encode(allocated),
        }

    def sched_status(self, _request: RpcRequest) -> JSON:
        """sched.resource-status: all, down (drained too) and allocated resources, each as an R."""
        ranks = range(len(self._nodes))
        down = set(ranks) - self._pool.usable
        allocated = encode(self._nodes, self._pool.allocated())
        return {"all": self._encode(ranks), "down": self._encode(down), "allocated": allocated}

    def _encode(self, ranks: Any) -> JSON:
        return encode(self._nodes, {r: (self._nodes[r].cores, self._nodes[r].gpus) for r in ranks})

    def _drain_info(self) -> JSON:
        groups: dict[RankDrain, list[int]] = {}
        for rank, drain in sorted(self._drains.items()):
            groups.setdefault(drain, []).append(rank)
        return {
            idset.encode(ranks): {"timestamp": drain.timestamp, "reason": drain.reason}
            for drain, ranks in groups.items()
        }

    def drain(self, request: RpcRequest) -> JSON:
        """resource.drain: no new jobs for these ranks."""
        ranks = self._targets(request)
        mode, reason = request.payload.get("mode") or "", request.payload.get("reason") or ""
        if mode not in ("", "update", "overwrite"):
            raise RpcError(errno.EINVAL, f"invalid drain mode '{mode}' specified")
        reasoned = [rank for rank in ranks if rank in self._drains and self._drains[rank].reason]
        if reasoned and not mode:
            s = "s" if len(reasoned) > 1 else ""
            raise RpcError(errno.EEXIST, f"rank{s} {idset.encode(reasoned)} already drained")
        now = self._clock()
        for rank in ranks:
            if rank in reasoned and mode == "update":
                continue
            known = self._drains.get(rank)
            self._drains[rank] = RankDrain(known.timestamp if known else now, reason)
        self._apply()
        return {}

    def undrain(self, request: RpcRequest) -> JSON:
        """resource.undrain."""
        ranks = self._targets(request)
        mode = request.payload.get("mode") or ""
        if mode not in ("", "update", "overwrite", "force-overwrite"):
            raise RpcError(errno.EINVAL, f"invalid undrain mode '{mode}' specified")
        absent = [rank for rank in ranks if rank not in self._drains]
        if absent and not mode:
            s = "s" if len(absent) > 1 else ""
            raise RpcError(errno.EEXIST, f"rank{s} {idset.encode(absent)} not drained")
        for rank in ranks:
            self._drains.pop(rank, None)
        self._apply()
        return {}

    def _targets(self, request: RpcRequest) -> list[int]:
        """Return the ranks that a request names, by an idset or by hosts. Raises RpcError."""
        text: str = request.need("targets", str)
        try:
            ranks = list(idset.decode(text))
        except IdsetError:
            ranks = self._ranks_of(text)
        if not ranks:
            raise RpcError(errno.EINVAL, "idset is empty")
        if max(ranks) >= len(self._nodes):
            raise RpcError(errno.EINVAL, "idset is out of range")
        return ranks

    def _ranks_of(self, text: str) -> list[int]:
        try:
            hosts = hostlist.decode(text)
        except HostlistError as error:
            raise RpcError(errno.EINVAL, f"invalid targets: {error}") from None
        known = {node.host for node in self._nodes}
        unknown = [host for host in hosts if host not in known]
        if unknown:
            raise RpcError(errno.EINVAL, f"invalid targets: invalid hosts: {hostlist.encode(unknown)}")
        return [node.rank for node in self._nodes if node.host in hosts]

    def _apply(self) -> None:
        for rank in range(len(self._nodes)):
            self._pool.mark(rank, drained=rank in self._drains)
        kept = {self._nodes[rank].host: [d.timestamp, d.reason] for rank, d in self._drains.items()}
        self._manager.parts.store.values.set(_META, json.dumps(kept))
        self._scheduler.changed(Happened.CLUSTER)
        self._manager.commits.schedule()

    def _restore(self) -> None:
        kept = json.loads(self._manager.parts.store.values.get(_META) or "{}")
        for node in self._nodes:
            if node.host in kept:
                self._drains[node.rank] = RankDrain(*kept[node.host])
                self._pool.mark(node.rank, drained=True)
