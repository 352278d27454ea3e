"""One cluster of the service: what it is, its connection, and its jobs in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from restful.clusters.connection import ClusterConnection, ConnectionState
from restful.clusters.job_cache import JobCache
from restful.clusters.spec import Tenancy

if TYPE_CHECKING:
    from restful.clusters.spec import ClusterSpec
    from restful.settings import ClusterLimits
    from restful.store.clusters import ClusterRow


@dataclass(slots=True, eq=False, weakref_slot=True)
class ServedCluster:
    """A cluster, as long as the service serves it."""

    spec: ClusterSpec
    row: ClusterRow
    """As in the database; replaced when it changes there."""
    connection: ClusterConnection
    cache: JobCache
    under_way: set[str] = field(default_factory=set)
    """The ids of requests whose submit is under way in this process."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a submit that was under way has ended: the projection may have waited for it."""
    doubtful: bool = False
    """Whether a submit has ended of which it is not known whether the instance took it."""
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the projection has all that the instance had when it was reached."""
    reachable: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there is a reason to connect again at once, while it is away."""

    @property
    def id(self) -> str:
        """Return its id in the database."""
        return self.row.id

    @property
    def name(self) -> str:
        """Return its name."""
        return self.spec.name

    @property
    def gone(self) -> bool:
        """Return whether nothing but the records of its jobs is left."""
        return self.connection.state is ConnectionState.GONE

    @property
    def own(self) -> bool:
        """Return whether it is somebody's own, who may have its instance say what he likes."""
        return self.spec.tenancy is Tenancy.OWN

    @property
    def owner(self) -> str:
        """Return the user whose it is; empty for a shared one."""
        return self.spec.owner if self.own else ""


def new_cluster(spec: ClusterSpec, row: ClusterRow, limits: ClusterLimits) -> ServedCluster:
    """Return a cluster that is not connected yet."""
    return ServedCluster(spec, row, ClusterConnection(spec, limits), JobCache(limits.cached_jobs))
