"""Clusters that are in the database and are not served: their jobs' records can be read all the same."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from minicluster.instance.errors import InstanceGone
from restful.clusters.cluster import new_cluster
from restful.clusters.connection import ConnectionState
from restful.clusters.projection import Charging, charges, lost
from restful.clusters.spec import ClusterSpec, Tenancy
from restful.store import clusters as rows
from restful.store import jobs, request_keys, usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.instance.port import Instance
    from restful.clusters.cluster import ServedCluster
    from restful.clusters.follower import Context
    from restful.store.clusters import ClusterRow

MAX_REMEMBERED = 200
"""Former clusters in memory; the one that was asked for longest ago is dropped first."""


class Absence(NamedTuple):
    """Why a cluster is not served."""

    reason: str
    """For people, such as "was deleted"."""
    gone: bool
    """Whether it is not known to come back."""


def not_known(_row: ClusterRow) -> Absence | None:
    """Return nothing: what is not served is as what never was."""
    return None


class FormerClusters:
    """Reads them; `absence` decides which of them are shown, and why they are not served."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.absence: Callable[[ClusterRow], Absence | None] = not_known
        self._found: OrderedDict[str, ServedCluster] = OrderedDict()

    async def get(self, name: str) -> ServedCluster | None:
        """Return a cluster without an instance. Raises DatabaseError."""
        if self.absence is not_known:
            return None
        async with self._context.database.read() as connection:
            row = await rows.by_name(connection, name)
        absence = None if row is None else self.absence(row)
        if row is None or absence is None:
            return None
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = new_cluster(_spec(row), row, self._context.limits)
        found.row = row
        found.connection.reason = absence.reason
        found.connection.state = ConnectionState.GONE if absence.gone else ConnectionState.AWAY
        self._found.move_to_end(name)
        while len(self._found) > MAX_REMEMBERED:
            self._found.popitem(last=False)
        return found

    def forget(self, name: str) -> None:
        """Drop one, as it is served now."""
        self._found.pop(name, None)


def _spec(row: ClusterRow) -> ClusterSpec:
    def connect() -> Instance:
        raise InstanceGone(f"cluster {row.name} is not served")

    return ClusterSpec(row.name, connect, row.namespace, row.uid, Tenancy(row.tenancy), row.owner)


async def end_jobs(context: Context, row: ClusterRow, at: float) -> None:
    """Record that a cluster's jobs went with it, at a time, and release what was reserved for others.

    Raises DatabaseError. The second of two processes that do this finds nothing to do.
    """
    async with context.database.write() as connection:
        active = await jobs.active(connection, row.id)
        charging = Charging(context.now(), row.owner if row.tenancy == Tenancy.OWN else None)
        ended = [
            charges(each, lost(each, max(at, each.t_submit, each.t_run)), at, charging) for each in active
        ]
        await jobs.put(connection, [record for record, _ in ended])
        await usage.add(connection, row.id, [charge for _, charged in ended for charge in charged])
        for each in await request_keys.pending(connection, row.id):
            await request_keys.release(connection, each)
        await context.database.notify(connection, jobs.channel(row.id))
