"""Which jobs somebody may see: one that is not his is as one that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from restful.jobs.views import absent, jobid_of
from restful.store import jobs

if TYPE_CHECKING:
    from minicluster.database import Database
    from restful.clusters.access import ClusterAccess
    from restful.clusters.cluster import ServedCluster
    from restful.identity.principal import Principal
    from restful.store.jobs import JobRecord


class Visible(NamedTuple):
    """A job that somebody may see."""

    cluster: ServedCluster
    record: JobRecord
    own: bool
    """Whether it is his."""

    @property
    def present(self) -> bool:
        """Return whether its instance is the cluster's present one."""
        return self.record.instance == self.cluster.row.instance and not self.cluster.gone


class Visibility:
    """Finds jobs, from memory where they are there."""

    def __init__(self, database: Database, access: ClusterAccess) -> None:
        self._database = database
        self._access = access

    async def job(self, principal: Principal, cluster_name: str, text: str, scope: str) -> Visible:
        """Return a job by its id in any form, for `scope` with own jobs, and for SCOPE:all with others'.

        Raises HttpProblem "not-found", "forbidden".
        """
        cluster, scopes = await self._access.cluster(principal, cluster_name, scope)
        found = await self._found(principal, cluster, text)
        if not found.own and f"{scope}:all" not in scopes:
            raise absent(text)
        return found

    async def any_job(self, principal: Principal, cluster_name: str, text: str, scope: str) -> Visible:
        """Return a job, somebody else's too, for a scope that is about everybody's. Raises as `job` does."""
        cluster, _ = await self._access.cluster(principal, cluster_name, scope)
        return await self._found(principal, cluster, text)

    async def _found(self, principal: Principal, cluster: ServedCluster, text: str) -> Visible:
        record = await self._record(cluster, jobid_of(text))
        if record is None:
            raise absent(text)
        return Visible(cluster, record, record.owner == principal.user)

    async def _record(self, cluster: ServedCluster, jobid: int) -> JobRecord | None:
        record = cluster.cache.get(jobid)
        if record is not None:
            return record
        async with self._database.read() as connection:
            found = await jobs.by_id(connection, cluster.id, jobid)
        current = [each for each in found if each.instance == cluster.row.instance]
        if current:
            cluster.cache.offer(current[0])
        return next(iter(current or sorted(found, key=lambda each: each.t_submit, reverse=True)), None)
