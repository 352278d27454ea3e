"""All clusters that the service serves: each with a task that keeps its connection and its projection."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from minicluster.database import DatabaseError, new_id
from minicluster.instance.errors import InstanceError, JobNotFound
from restful.clusters import instance_calls
from restful.clusters.backoff import Backoff
from restful.clusters.change_reader import ChangesEnded
from restful.clusters.cluster import ServedCluster, new_cluster
from restful.clusters.connection import ConnectionState
from restful.clusters.follower import NotWriter, ProjectionWriter
from restful.clusters.former import FormerClusters, end_jobs
from restful.errors import HttpProblem
from restful.store import clusters as rows
from restful.store import jobs
from restful.store.clusters import ClusterRow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from minicluster.instance.port import Instance
    from restful.clusters.follower import Context
    from restful.clusters.spec import ClusterSpec
    from restful.store.jobs import JobRecord

log = logging.getLogger("restful.clusters")

SAME_TIME = 0.001
"""Seconds by which the time of one submit may differ where it was written and read as a decimal."""
COMPARED_JOBS = 50
"""Jobs by which an instance that was started again is known as the one from before."""
CLOSE_TIMEOUT = 5.0
"""Seconds for the end of all clusters together: a database that is away must not keep the process."""


class Clusters:
    """The clusters by their names."""

    def __init__(
        self, context: Context, recover: Callable[[Context, ServedCluster], Awaitable[None]]
    ) -> None:
        self._context = context
        self._recover = recover
        self._clusters: dict[str, ServedCluster] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.not_served = FormerClusters(context)

    def __iter__(self) -> Iterator[ServedCluster]:
        return iter(sorted(self._clusters.values(), key=lambda each: each.name))

    def get(self, name: str) -> ServedCluster | None:
        """Return a cluster."""
        return self._clusters.get(name)

    async def former(self, name: str) -> ServedCluster | None:
        """Return a cluster of which the records of jobs are there, though it is not served now.

        Raises DatabaseError.
        """
        found = await self.not_served.get(name)
        return None if name in self._clusters else found

    async def start(self, specs: Iterable[ClusterSpec]) -> None:
        """Serve clusters: each is connected to in the background. Raises DatabaseError."""
        for spec in specs:
            await self.add(spec)

    async def add(self, spec: ClusterSpec) -> None:
        """Serve one more cluster, or the same one with another description. Raises DatabaseError."""
        await self.remove(spec.name)
        cluster = new_cluster(spec, await described(self._context, spec), self._context.limits)
        self.not_served.forget(spec.name)
        self._clusters[spec.name] = cluster
        self._tasks[spec.name] = asyncio.create_task(self._keep(cluster), name=f"cluster {spec.name}")

    async def remove(self, name: str) -> None:
        """Serve a cluster no longer; its jobs stay in the database."""
        cluster = await self._stopped(name)
        if cluster is not None:
            cluster.connection.close()
            await cluster.connection.hung_up()
            await resign(self._context, cluster)

    async def retire(self, name: str, reason: str) -> None:
        """Serve a cluster that was deleted no longer: its jobs have ended. Raises DatabaseError.

        Who follows one of them learns so at once. Of one that was deleted while no service ran, jobs end when
        the last change was reported.
        """
        cluster = await self._stopped(name)
        if cluster is not None:
            cluster.connection.close(reason, ConnectionState.GONE)
            await cluster.connection.hung_up()
            await resign(self._context, cluster)
        async with self._context.database.read() as connection:
            row = await rows.by_name(connection, name)
        if row is not None:
            await end_jobs(self._context, row, row.seen if cluster is None else self._context.now())

    async def _stopped(self, name: str) -> ServedCluster | None:
        """Return a cluster that is kept no longer; None where there is none."""
        cluster, task = self._clusters.pop(name, None), self._tasks.pop(name, None)
        if cluster is None or task is None:
            return None
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return cluster

    def awaken(self, name: str) -> None:
        """Connect at once to a cluster that is away: there is a reason why it may be back."""
        cluster = self._clusters.get(name)
        if cluster is not None and cluster.connection.state is ConnectionState.AWAY:
            cluster.reachable.set()

    async def close(self) -> None:
        """Serve none any more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await asyncio.gather(*(self.remove(name) for name in list(self._clusters)))

    async def _keep(self, cluster: ServedCluster) -> None:
        """Connect, again and again, and write the projection as long as a connection lasts."""
        limits = self._context.limits
        backoff = Backoff(limits.first_retry, limits.last_retry)
        failures = 0
        while True:
            try:
                instance = await cluster.connection.open()
                cluster.row = await self._reached(cluster, instance)
                cluster.connection.ready()
                failures = 0
                await self._follow(cluster, instance)
            except (InstanceError, DatabaseError, HttpProblem, ChangesEnded, TimeoutError, OSError) as error:
                reason = str(error) or "did not answer in time"
            except Exception:
                log.exception("cluster %s: its projection failed", cluster.name)
                reason = "this service failed to follow its jobs"
            failures += 1
            delay = backoff.delay(failures)
            cluster.connection.lost(reason, delay)
            if await awakened(cluster, delay):
                failures = 0

    async def _follow(self, cluster: ServedCluster, instance: Instance) -> None:
        """Follow the changes for as long as the connection lasts, in one process at a time."""

        async def caught_up() -> None:
            await self._recover(self._context, cluster)

        failures, limits = 0, self._context.limits
        while True:
            try:
                await ProjectionWriter(cluster, instance, self._context).run(caught_up)
            except NotWriter:
                delay, failures = limits.lease_seconds / 3, 0
            except DatabaseError as error:  # the instance is there all the same
                failures += 1
                delay = Backoff(limits.first_retry, limits.last_retry).delay(failures)
                log.warning("cluster %s: its projection waits: %s", cluster.name, error)
            await asyncio.sleep(delay)
            await cluster.connection.ask(instance, instance_calls.started)  # raises if it is gone
            with contextlib.suppress(DatabaseError):
                cluster.row = await self._read(cluster)

    async def _read(self, cluster: ServedCluster) -> ClusterRow:
        """Return a cluster's row as it is now."""
        async with self._context.database.read() as connection:
            return await rows.by_name(connection, cluster.name) or cluster.row

    async def _reached(self, cluster: ServedCluster, instance: Instance) -> ClusterRow:
        """Return the cluster's row with the instance that it has now."""
        row, connection = await self._read(cluster), cluster.connection
        connection.cores_per_node = await connection.ask(instance, instance_calls.cores_per_node)
        started = await connection.ask(instance, instance_calls.started)
        if row.instance and row.started == started:
            return row
        async with self._context.database.read() as reading:
            latest = await jobs.latest(reading, row.id, row.instance, COMPARED_JOBS)
        # Of another life, which has no time of start, only one that was restored from a dump is the same.
        same = bool(row.instance) and (
            (not latest and bool(row.started))
            or await connection.ask(instance, lambda found: knows_any(found, latest))
        )
        async with self._context.database.write() as writing:
            noted = await rows.by_name(writing, cluster.name) or row
            if noted.instance and noted.started == started:
                return noted  # another process was faster: what it has called this instance counts for all
            reached = row.instance if same else new_id(self._context.now())
            seen = row.seen if same else 0.0
            await rows.reached(writing, row.id, reached, started)
            await rows.saw(writing, row.id, seen)
        return replace(row, instance=reached, started=started, seen=seen)


def knows_any(instance: Instance, latest: list[JobRecord]) -> bool:
    """Return whether an instance has one of these jobs: it is the same, or one restored from it."""
    for record in latest:
        try:
            job = instance.jobs.get(record.id)
        except JobNotFound:
            continue
        if abs(job.t_submit - record.t_submit) < SAME_TIME:
            return True
    return False


async def described(context: Context, spec: ClusterSpec) -> ClusterRow:
    """Return a cluster's row, which is made or changed as its description is. Raises DatabaseError."""
    async with context.database.write() as connection:
        found = await rows.by_name(connection, spec.name)
        if found is None:
            found = ClusterRow(
                id=new_id(context.now()),
                name=spec.name,
                namespace=spec.namespace,
                uid=spec.uid,
                tenancy=spec.tenancy,
                owner=spec.owner,
                instance="",
                started="",
                seen=0.0,
            )
            await rows.add(connection, found)
        now = replace(found, uid=spec.uid, tenancy=spec.tenancy, owner=spec.owner)
        if spec.uid != found.uid:
            now = replace(now, started="")  # what is reached next is another life
        if now != found:
            await rows.described(connection, now)
        return now


async def resign(context: Context, cluster: ServedCluster) -> None:
    """Let another process write the projection at once."""
    with contextlib.suppress(DatabaseError):
        async with context.database.write() as connection:
            await rows.resign(connection, cluster.id, context.process)


async def awakened(cluster: ServedCluster, delay: float) -> bool:
    """Wait before the next attempt to connect; return whether there was a reason not to wait that long."""
    try:
        async with asyncio.timeout(delay):  # `wait_for` of 3.11 may lose that it is cancelled
            await cluster.reachable.wait()
    except TimeoutError:
        return False
    finally:
        cluster.reachable.clear()
    return True


async def connected(clusters: Clusters, timeout: float) -> None:
    """Wait until all clusters are followed, but for some seconds at most: one may be away."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            for each in list(clusters):
                await each.caught_up.wait()
