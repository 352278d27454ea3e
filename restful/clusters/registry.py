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
from restful.clusters.follower import LEASE, NotWriter, ProjectionWriter
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


class Clusters:
    """The clusters by their names."""

    def __init__(
        self, context: Context, recover: Callable[[Context, ServedCluster], Awaitable[None]]
    ) -> None:
        self._context = context
        self._recover = recover
        self._clusters: dict[str, ServedCluster] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __iter__(self) -> Iterator[ServedCluster]:
        return iter(sorted(self._clusters.values(), key=lambda each: each.name))

    def get(self, name: str) -> ServedCluster | None:
        """Return a cluster."""
        return self._clusters.get(name)

    async def start(self, specs: Iterable[ClusterSpec]) -> None:
        """Serve clusters: each is connected to in the background. Raises DatabaseError."""
        for spec in specs:
            await self.add(spec)

    async def add(self, spec: ClusterSpec) -> None:
        """Serve one more cluster, or the same one with another description. Raises DatabaseError."""
        await self.remove(spec.name)
        cluster = new_cluster(spec, await self._row(spec), self._context.limits)
        self._clusters[spec.name] = cluster
        self._tasks[spec.name] = asyncio.create_task(self._keep(cluster), name=f"cluster {spec.name}")

    async def remove(self, name: str) -> None:
        """Serve a cluster no longer; its jobs stay in the database."""
        cluster, task = self._clusters.pop(name, None), self._tasks.pop(name, None)
        if cluster is None or task is None:
            return
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        cluster.connection.close()
        with contextlib.suppress(DatabaseError):
            async with self._context.database.write() as connection:
                await rows.resign(connection, cluster.id, self._context.process)

    async def close(self) -> None:
        """Serve none any more."""
        for name in list(self._clusters):
            await self.remove(name)

    async def _row(self, spec: ClusterSpec) -> ClusterRow:
        async with self._context.database.write() as connection:
            found = await rows.by_name(connection, spec.name)
            if found is None:
                found = ClusterRow(
                    id=new_id(self._context.now()),
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
            await rows.described(connection, now)
            return now

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
            await asyncio.sleep(delay)

    async def _follow(self, cluster: ServedCluster, instance: Instance) -> None:
        """Follow the changes for as long as the connection lasts, in one process at a time."""

        async def caught_up() -> None:
            await self._recover(self._context, cluster)

        failures, limits = 0, self._context.limits
        while True:
            try:
                await ProjectionWriter(cluster, instance, self._context).run(caught_up)
            except NotWriter:
                delay, failures = LEASE / 3, 0
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
        same = bool(row.instance) and (
            not latest or await connection.ask(instance, lambda found: knows_any(found, latest))
        )
        reached = row.instance if same else new_id(self._context.now())
        seen = row.seen if same else 0.0
        async with self._context.database.write() as writing:
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
