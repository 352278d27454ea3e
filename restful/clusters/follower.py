"""Writes the projection of one instance: its changes, gathered for a moment, in one transaction each time."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sqlalchemy import func, select

from restful.clusters import instance_calls
from restful.clusters.change_reader import ChangeReader
from restful.clusters.ownership import Claim, Ownership, Rows, Submits, claimed
from restful.clusters.projection import Charging, charges, lost, new_record, projected
from restful.jobs import seal
from restful.store import clusters, jobs, request_keys, usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.database import Database
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job
    from restful.clusters.cluster import ServedCluster
    from restful.jobs.seal import Seal
    from restful.settings import ClusterLimits
    from restful.store.jobs import JobRecord
    from restful.store.usage import Charge

T = TypeVar("T")

RECOVERY_INTERVAL = 60.0
"""Seconds between two looks for requests that another process left."""


class Context(NamedTuple):
    """What every follower of a service works with."""

    database: Database
    sealing: Seal
    limits: ClusterLimits
    now: Callable[[], float]
    process: str
    """The id of this service process."""
    alone: bool
    """Whether there is one process only: with SQLite there is."""

    async def common_now(self, connection: AsyncConnection) -> float:
        """Return the time by the clock that all processes have in common: that of the database's server."""
        if self.alone:
            return self.now()
        found = await connection.execute(select(func.extract("epoch", func.clock_timestamp())))
        return float(found.scalar_one())

    async def claims_until(self, connection: AsyncConnection) -> float:
        """Return until when another process's claim to a request must last to count."""
        return math.inf if self.alone else await self.common_now(connection)


class NotWriter(Exception):  # noqa: N818 - named for what happened
    """Another process writes the projection."""


class ProjectionWriter:
    """Follows one connection to an instance until that ends."""

    def __init__(self, cluster: ServedCluster, instance: Instance, context: Context) -> None:
        self._cluster = cluster
        self._instance = instance
        self._context = context
        self._ownership = Ownership(cluster.row, cluster.owner, context.sealing)
        self._later: dict[int, Job] = {}
        """Jobs whose submit is under way here, and has not noted them yet."""
        self._seen = cluster.row.seen
        self._recovered = context.now()

    async def run(self, caught_up: Callable[[], Awaitable[None]]) -> None:
        """Write changes until the stream ends, which raises.

        `caught_up` is called at the end of the history, and when requests may have been left without a job.

        Raises InstanceError, NotWriter, ChangesEnded, TimeoutError, DatabaseError.
        """
        await self._lead()
        self._cluster.cache.clear(current=True)
        since = max(0.0, self._seen - 1.0)
        changes = await self._ask(lambda instance: instance_calls.Changes(instance, since))
        reader = ChangeReader(changes, self._cluster.name, self._cluster.wake)
        try:
            while True:
                await self._round(reader, caught_up)
        finally:
            self._cluster.caught_up.clear()
            self._cluster.cache.clear(current=False)
            reader.close()

    async def _round(self, reader: ChangeReader, caught_up: Callable[[], Awaitable[None]]) -> None:
        await self._wait(reader)
        batch = reader.taken(self._context.limits.batch_changes)
        found = {**self._later, **{each.job.id: each.job for each in batch if each.job is not None}}
        at = max((each.at for each in batch), default=self._seen)
        self._later = {}
        await self._write(list(found.values()), max(at, self._seen))
        if any(each.job is None for each in batch):
            await self._compare()
            self._cluster.doubtful = True
        if self._cluster.doubtful or self._recovery_due():
            self._cluster.doubtful = False
            self._recovered = self._context.now()
            await caught_up()
            self._cluster.caught_up.set()
        await asyncio.sleep(self._context.limits.batch_seconds)

    def _recovery_due(self) -> bool:
        """Return whether requests of other processes may have been left, by one that died."""
        elapsed = self._context.now() - self._recovered
        return not self._context.alone and not 0 <= elapsed <= RECOVERY_INTERVAL

    async def _wait(self, reader: ChangeReader) -> None:
        """Wait for changes, or until the lease has to be renewed, or others' submits may have ended."""
        lease = self._context.limits.lease_seconds
        timeout = min(1.0, lease / 3) if self._later else None if self._context.alone else lease / 3
        wake = self._cluster.wake
        while reader.empty and not wake.is_set():
            try:
                async with asyncio.timeout(timeout):  # `wait_for` of 3.11 may lose that it is cancelled
                    await wake.wait()
            except TimeoutError:
                if self._later:
                    break
                await self._lead()
        wake.clear()

    async def _lead(self) -> None:
        if self._context.alone:
            return
        async with self._context.database.write() as connection:
            await self._renew(connection)

    async def _renew(self, connection: AsyncConnection) -> None:
        """Go on as the one that writes, within a transaction. Raises NotWriter."""
        context = self._context
        if context.alone:
            return
        now = await context.common_now(connection)
        until = now + context.limits.lease_seconds
        if not await clusters.lead(connection, self._cluster.id, context.process, now, until):
            raise NotWriter

    async def _write(self, found: list[Job], at: float) -> None:
        """Write jobs as they are now, those whose submit is under way excepted."""
        known, rows, marks = await self._known(found)
        records: list[JobRecord] = []
        charged: list[Charge] = []
        for job in sorted(found, key=lambda each: each.id):
            before = known.get(job.id) or await self._first(job, rows, marks)
            if before is None:
                self._later[job.id] = job
                continue
            record, more = charges(
                before,
                projected(before, job, own=self._cluster.own),
                at,
                _charging(self._context, self._cluster),
            )
            records.append(record)
            charged += more
            if record.request and record.id not in known:
                rows.jobs.setdefault(record.request, []).append(record)
        await self._commit(records, charged, rows, at)

    async def _known(
        self, found: list[Job]
    ) -> tuple[dict[int, JobRecord], Rows, dict[int, Mapping[str, Any]]]:
        """Return the records there are, the requests that the other jobs name, and these jobs' attributes."""
        row, cache = self._cluster.row, self._cluster.cache
        known = {job.id: record for job in found if (record := cache.get(job.id)) is not None}
        missing = {job.id for job in found if job.id not in known}
        async with self._context.database.read() as connection:
            known |= await jobs.by_ids(connection, row.id, row.instance, missing)
        new = {job.id: job.attributes for job in found if job.id in missing and job.id not in known}
        attributes = {jobid: own for jobid, own in new.items() if own is not None}
        unread = [jobid for jobid, own in new.items() if own is None]
        if unread:
            attributes |= await self._ask(lambda i: instance_calls.attributes(i, unread))
        marks = {mark.row for each in attributes.values() if (mark := seal.read(each)) is not None}
        async with self._context.database.read() as connection:
            rows = await request_keys.by_ids(connection, marks)
            of_rows = await jobs.of_requests(connection, rows)
            until = await self._context.claims_until(connection)
        return known, Rows(rows, of_rows, until), attributes

    async def _first(
        self, job: Job, rows: Rows, attributes: Mapping[int, Mapping[str, Any]]
    ) -> JobRecord | None:
        """Return the record of a job that is new here, with its owner; None where that is known later."""
        own = attributes.get(job.id, {})
        candidate = rows.candidate(job.id, own, seal.read(own))
        submits = Submits(self._cluster.under_way, self._context.process, rows.claims_until)
        claim = claimed(candidate, self._cluster.row.instance, submits)
        if claim is Claim.LATER:
            return None
        owned = await self._ownership.owned(candidate, rows, self._jobspec, claim)
        row = candidate.row if owned.request else None
        reserved = (row.nodes, row.seconds) if row is not None else (0, 0.0)
        return new_record(self._cluster.id, self._cluster.row.instance, job.id, owned, *reserved)

    async def _jobspec(self, jobid: int) -> Mapping[str, Any]:
        return await self._ask(lambda instance: instance_calls.jobspec(instance, jobid))

    async def _commit(self, records: list[JobRecord], charged: list[Charge], rows: Rows, at: float) -> None:
        if not records and at <= self._seen:
            return
        context, row = self._context, self._cluster.row

        async def commit(connection: AsyncConnection) -> dict[int, JobRecord]:
            await self._renew(connection)
            await request_keys.finished(connection, rows.adopted)
            await jobs.put(connection, records)
            await usage.add(connection, row.id, charged)
            await clusters.saw(connection, row.id, at)
            await context.database.notify(connection, jobs.channel(row.id))
            return await jobs.by_ids(connection, row.id, row.instance, [each.id for each in records])

        written = await context.database.writing(commit)
        self._seen = at
        self._cluster.cache.put(written.values())

    async def _compare(self) -> None:
        """Look after jobs that have not ended as far as is known, and that the history did not have."""
        row = self._cluster.row
        async with self._context.database.read() as connection:
            active = await jobs.active(connection, row.id)
        if not active:
            return
        ids = {each.id for each in active if each.instance == row.instance}
        present, ended = await self._ask(lambda instance: instance_calls.states(instance, ids))
        await self._write(ended, self._seen)
        gone = [each for each in active if each.instance != row.instance or each.id not in present]
        charged: list[Charge] = []
        records: list[JobRecord] = []
        for each in gone:
            record, more = charges(
                each, lost(each, self._seen), self._seen, _charging(self._context, self._cluster)
            )
            records.append(record)
            charged += more
        await self._commit(records, charged, Rows({}, {}), self._seen)

    async def _ask(self, function: Callable[[Instance], T]) -> T:
        return await self._cluster.connection.ask(self._instance, function)


def _charging(context: Context, cluster: ServedCluster) -> Charging:
    return Charging(context.now(), cluster.owner if cluster.own else None)
