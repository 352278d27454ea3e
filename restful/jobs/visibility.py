"""Which jobs somebody may see: one that is not his is as one that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from restful.errors import HttpProblem
from restful.jobs.filters import FEW
from restful.jobs.views import absent, jobid_of
from restful.store import jobs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

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
        found = (await self.many(principal, (cluster, scopes), [text], scope))[text]
        if found is None:
            raise absent(text)
        return found

    async def many(
        self, principal: Principal, at: tuple[ServedCluster, frozenset[str]], texts: Iterable[str], scope: str
    ) -> dict[str, Visible | None]:
        """Return jobs as `job` does, by their ids as given; None: it would raise. The database is asked once.

        `at` is the cluster, and the scopes there, as ClusterAccess returns them.
        """
        cluster, scopes = at
        found = await self._found(principal, cluster, texts)
        for text, job in found.items():
            if job is not None and not job.own and f"{scope}:all" not in scopes:
                found[text] = None
        return found

    async def any_job(self, principal: Principal, cluster: ServedCluster, text: str) -> Visible:
        """Return a job, somebody else's too: the caller has seen to a scope that is about everybody's.

        Raises HttpProblem "not-found".
        """
        found = (await self._found(principal, cluster, [text]))[text]
        if found is None:
            raise absent(text)
        return found

    async def _found(
        self, principal: Principal, cluster: ServedCluster, texts: Iterable[str]
    ) -> dict[str, Visible | None]:
        ids = {text: _id(text) for text in texts}
        records = await self._records(cluster, {each for each in ids.values() if each is not None})

        def visible(jobid: int | None) -> Visible | None:
            record = None if jobid is None else records.get(jobid)
            return None if record is None else Visible(cluster, record, record.owner == principal.user)

        return {text: visible(jobid) for text, jobid in ids.items()}

    async def _records(self, cluster: ServedCluster, ids: Collection[int]) -> dict[int, JobRecord]:
        """Return the jobs of ids: those of the present instance, or else of the latest that had one."""
        known = {jobid: record for jobid in ids if (record := cluster.cache.get(jobid)) is not None}
        missing = [jobid for jobid in ids if jobid not in known]
        if not missing:
            return known
        rows = await self._database.rows(jobs.of_ids(cluster.id, missing), few=len(missing) <= FEW)
        present = cluster.row.instance
        found = sorted(map(jobs.record, rows), key=lambda each: (each.instance == present, each.t_submit))
        latest = {each.id: each for each in found}
        for each in latest.values():
            if each.instance == present:
                cluster.cache.offer(each)
        return known | latest


def _id(text: str) -> int | None:
    """Return the id that a text means; None: it is none."""
    try:
        return jobid_of(text)
    except HttpProblem:
        return None
