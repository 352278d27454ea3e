"""Which jobs somebody may follow: those that he may see, by the connection that their cluster has now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from broker_config.formats.job_states import JobResult
from minicluster.database import DatabaseError
from minicluster.instance.errors import InstanceGone, JobNotFound
from restful.errors import HttpProblem
from restful.jobs.output.followed import Followed
from restful.jobs.output.job_changes import FollowedCluster
from restful.store import jobs as stored

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from minicluster.database import Database
    from minicluster.instance.port import Instance, Jobs
    from restful.clusters.access import ClusterAccess
    from restful.clusters.cluster import ServedCluster
    from restful.identity.principal import Principal
    from restful.jobs.jobs import JobService
    from restful.jobs.visibility import Visibility
    from restful.store.jobs import JobRecord

POLL_INTERVAL = 0.1
"""Seconds between two questions whether the projection has a job of which something is reported."""
MAX_POLLS = 30
"""Questions; a job that is not there then is nobody's."""
SUCCESSOR_TIMEOUT = 5.0
"""Seconds for the question whether a job was restarted; then it is taken for ended."""


@dataclass(frozen=True, slots=True)
class VisibleJobs:
    """See `restful.jobs.output.streams.FollowedJobs`."""

    database: Database
    access: ClusterAccess
    visibility: Visibility
    jobs: JobService
    now: Callable[[], float]

    async def followed(self, principal: Principal, cluster: str, jobid: str) -> Followed:
        """Return a job; that somebody reads another's is recorded."""
        found = await self.jobs.visible(principal, cluster, jobid)
        if not found.present:
            raise HttpProblem(
                "output-gone", "The instance that ran this job is gone, and its output with it."
            )
        record, loop = found.record, asyncio.get_running_loop()
        return Followed(
            (found.cluster.id, record.instance, record.id),
            record.id,
            partial(_jobs, found.cluster, record),
            lambda _id: self._successor(loop, record),
            found.cluster.owner,
            not record.active,
        )

    def _successor(self, loop: asyncio.AbstractEventLoop, record: JobRecord) -> int | None:
        """Return the id under which a job was restarted; called by a thread."""
        if not record.request or record.result is JobResult.COMPLETED:  # as ownership.claimed has it
            return None
        asked = asyncio.run_coroutine_threadsafe(self._restarts(record), loop)
        try:
            restarts = asked.result(SUCCESSOR_TIMEOUT)
        except (DatabaseError, TimeoutError):
            return None
        return next((each.id for each in restarts if each.restart_of == record.id), None)

    async def _restarts(self, record: JobRecord) -> list[JobRecord]:
        async with self.database.read() as connection:
            return (await stored.of_requests(connection, [record.request]))[record.request]

    async def followed_cluster(self, principal: Principal, cluster: str) -> FollowedCluster:
        """Return a cluster, to follow one's own jobs there."""
        found, _ = await self.access.cluster(principal, cluster, "jobs:read")
        instance = found.row.instance

        async def mine(ids: Collection[int]) -> Collection[int]:
            """Return which are the user's. The projection may be behind the journal: it is awaited."""
            for _ in range(MAX_POLLS):
                async with self.database.read() as connection:
                    records = await stored.by_ids(connection, found.id, instance, ids)
                if len(records) == len(ids):
                    break
                await asyncio.sleep(POLL_INTERVAL)
            return {each.id for each in records.values() if each.owner == principal.user}

        return FollowedCluster(
            (found.id, instance), lambda: _present(found, instance).overview, self.now, mine, found.owner
        )

    async def check(self, principal: Principal, cluster: str, jobid: str = "") -> None:
        """Raise HttpProblem where somebody may not follow any more."""
        if jobid:
            await self.visibility.job(principal, cluster, jobid, "jobs:read")
        else:
            await self.access.cluster(principal, cluster, "jobs:read")


def _jobs(cluster: ServedCluster, record: JobRecord) -> Jobs:
    if cluster.gone or cluster.row.instance != record.instance:
        raise JobNotFound(record.id)
    return cluster.connection.present().jobs


def _present(cluster: ServedCluster, instance: str) -> Instance:
    if cluster.row.instance != instance:
        raise InstanceGone(f"cluster {cluster.name}: another instance is there now")
    return cluster.connection.present()
