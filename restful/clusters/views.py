"""Nodes, queues and numbers of clusters, for those who may see them, and what operators do to them."""

from __future__ import annotations

import contextlib
import errno
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from broker_config.formats import hostlist
from broker_config.formats.errors import HostlistError
from minicluster.instance.errors import RequestRefused
from restful import audit
from restful.clusters import snapshots
from restful.clusters.snapshots import CachedSnapshot, NodesSnapshot, QueuesSnapshot
from restful.errors import HttpProblem
from restful.store import job_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from minicluster.instance.port import Instance
    from restful.clusters.access import ClusterAccess
    from restful.clusters.cluster import ServedCluster
    from restful.clusters.follower import Context
    from restful.identity.principal import Principal
    from restful.store.job_counts import QueueDepth

T = TypeVar("T")


class Snapshots(NamedTuple):
    """What is remembered of one cluster for a second."""

    nodes: CachedSnapshot[NodesSnapshot]
    queues: CachedSnapshot[QueuesSnapshot]


class ClusterJobCounts(NamedTuple):
    """The jobs of a cluster that have not ended: everybody's for operators there, else one's own."""

    everybody: bool
    by_queue: Mapping[str, QueueDepth]
    by_host: Mapping[str, int]
    """How many run on each node."""


class ClusterViews:
    """What the routes of clusters call. Raises HttpProblem "not-found", "forbidden", "instance-away"."""

    def __init__(self, context: Context, access: ClusterAccess) -> None:
        self._context = context
        self._access = access
        self._snapshots: WeakKeyDictionary[ServedCluster, Snapshots] = WeakKeyDictionary()

    async def clusters(self, principal: Principal) -> list[ServedCluster]:
        """Return the clusters that somebody may use."""
        return await self._access.usable(principal)

    async def cluster(self, principal: Principal, name: str) -> ServedCluster:
        """Return one cluster."""
        return (await self._access.cluster(principal, name, "clusters:read"))[0]

    async def nodes(self, principal: Principal, name: str) -> NodesSnapshot:
        """Return its nodes."""
        return await self._of(await self.cluster(principal, name)).nodes.get()

    async def queues(self, principal: Principal, name: str) -> tuple[QueuesSnapshot, bool]:
        """Return its queues, and whether the numbers of everybody's jobs may be seen."""
        cluster, scopes = await self._access.cluster(principal, name, "clusters:read")
        return await self._of(cluster).queues.get(), "jobs:read:all" in scopes

    async def active_jobs(self, principal: Principal, name: str) -> ClusterJobCounts:
        """Return how many jobs wait and run there."""
        cluster, scopes = await self._access.cluster(principal, name, "jobs:read")
        everybody = "jobs:read:all" in scopes
        owner = None if everybody else principal.user
        async with self._context.database.read() as connection:
            by_queue = await job_counts.by_queue(connection, cluster.id, owner)
            nodelists = await job_counts.by_nodelist(connection, cluster.id, owner)
        return ClusterJobCounts(everybody, by_queue, _by_host(nodelists))

    async def drain(self, principal: Principal, name: str, host: str, reason: str) -> None:
        """Give a node no new work."""
        await self._node(principal, name, host, "node.drain", lambda i: i.nodes.drain(host, reason))

    async def undrain(self, principal: Principal, name: str, host: str) -> None:
        """Give a node work again. Raises HttpProblem "conflict" where it is not drained."""
        await self._node(principal, name, host, "node.undrain", lambda i: i.nodes.undrain(host))

    async def _node(
        self, principal: Principal, name: str, host: str, action: str, function: Callable[[Instance], None]
    ) -> None:
        cluster, _ = await self._access.cluster(principal, name, "nodes:drain")
        brokers = (await self._of(cluster).nodes.get()).brokers
        if all(each.host != host for each in brokers):
            raise HttpProblem("not-found", f"cluster {name} has no node {host[:100]!r}")
        await self._change(principal, cluster, action, f"cluster:{name} node:{host}", function)

    async def start_queue(
        self, principal: Principal, name: str, queue: str, *, start: bool, reason: str = ""
    ) -> None:
        """Have a queue start jobs, or start none any more; what runs goes on."""
        cluster, _ = await self._access.cluster(principal, name, "queues:manage")
        names = [each.name for each in (await self._of(cluster).queues.get()).queues]
        wanted = "" if queue == DEFAULT_QUEUE and names == [""] else queue
        if wanted not in names:
            raise HttpProblem("not-found", f"cluster {name} has no queue {queue[:100]!r}")
        action = "queue.start" if start else "queue.stop"

        def change(instance: Instance) -> None:
            if start:
                instance.queues.start(wanted)
            else:
                instance.queues.stop(wanted, reason)

        await self._change(principal, cluster, action, f"cluster:{name} queue:{queue}", change)

    async def _change(
        self,
        principal: Principal,
        cluster: ServedCluster,
        action: str,
        what: str,
        function: Callable[[Instance], None],
    ) -> None:
        """Have the instance change something, and record it."""
        try:
            await cluster.connection.call(function)
        except RequestRefused as refusal:
            kind = "conflict" if refusal.errnum in (errno.EINVAL, errno.EEXIST) else "instance-refused"
            raise HttpProblem(kind, refusal.text) from refusal
        for each in self._of(cluster):
            each.forget()
        now = self._context.now()
        async with self._context.database.write() as connection:
            await audit.record(connection, audit.by(principal, action, what), now)

    def _of(self, cluster: ServedCluster) -> Snapshots:
        found = self._snapshots.get(cluster)
        if found is None:
            age, now = self._context.limits.snapshot_seconds, self._context.now
            call = cluster.connection.call
            found = self._snapshots[cluster] = Snapshots(
                CachedSnapshot(lambda: call(snapshots.nodes), age, now),
                CachedSnapshot(lambda: call(snapshots.queues), age, now),
            )
        return found


def _by_host(nodelists: Iterable[tuple[str, int]]) -> Counter[str]:
    """Return how many jobs each host has. Lists that cannot be read, or are too long, are left out."""
    found, left = Counter[str](), hostlist.MAX_HOSTS
    for nodelist, jobs in nodelists:
        with contextlib.suppress(HostlistError):
            hosts = hostlist.decode(nodelist, left)
            left -= len(hosts)
            found.update(dict.fromkeys(hosts, jobs))
    return found


DEFAULT_QUEUE = "default"
"""The only queue of a cluster whose queues have no names, in paths."""
