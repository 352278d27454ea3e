"""Jobs at two replicas over one PostgreSQL: one dies, their clocks differ, and each job is there once."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.records import JobFilter
from minicluster.instance.rpc_bulk import RpcBulk
from restful.clusters import registry
from restful.clusters.spec import ClusterSpec
from restful.errors import HttpProblem
from restful.store import clusters, request_keys
from tests.conformance.laboratory import Laboratory
from tests.restful.faults.replica import FAST, Replica, replica
from tests.restful.jobs.service import BASE, USERS, within
from tests.restful.jobs.test_crashes import STEPS, Crash, die, dying, submission
from tests.restful.output.driver import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

ALICE = USERS["alice"]


@contextlib.asynccontextmanager
async def two(
    url: str, laboratory: Laboratory, clocks: tuple[Callable[[], float], ...] = (time.time, time.time)
) -> AsyncIterator[tuple[Replica, Replica]]:
    """Give two replicas, the first of which writes the projection."""
    spec = ClusterSpec("mc", laboratory.connect, base=BASE)
    async with replica(url, spec, now=clocks[0]) as here:
        await asyncio.wait_for(here.cluster.caught_up.wait(), 60)
        await here.grant_everyone()
        async with replica(url, spec, now=clocks[1]) as there:
            await until(lambda: not there.cluster.connection.reason, "the second replica is connected")
            yield here, there


async def writer(alive: Replica) -> str:
    """Return the process that writes the projection, as the database has it."""
    async with alive.services.database.read() as connection:
        row = await clusters.by_name(connection, "mc")
    assert row is not None
    return row.writer


async def submitted(alive: Replica, prefix: str, number: int) -> int:
    """Submit as a client does: again while the dead replica's claim lasts."""
    async with asyncio.timeout(60):
        while True:
            try:
                order = submission(prefix, number)
                return (await alive.services.jobs.submit(ALICE, "mc", order, f"{prefix}{number}")).id
            except HttpProblem as problem:
                if problem.type != "under-way":
                    raise
                await asyncio.sleep(0.05)


def names(laboratory: Laboratory, prefix: str) -> Counter[str]:
    """Return how many jobs of each name the instance has."""
    with laboratory.connect() as instance:
        return Counter(job.name for job in instance.jobs.find(JobFilter(), 0) if job.name.startswith(prefix))


CLOCKS: dict[str, tuple[Callable[[], float], ...]] = {
    "the same clock": (time.time, time.time),
    "one an hour ahead": (lambda: time.time() + 3600, time.time),
    "one an hour behind": (lambda: time.time() - 3600, time.time),
}


@pytest.mark.parametrize("clocks", CLOCKS.values(), ids=CLOCKS)
def test_a_replica_dies_between_any_two_steps_and_the_other_has_each_job_once(
    url: str, embedded: Laboratory, clocks: tuple[Callable[[], float], ...], request: pytest.FixtureRequest
) -> None:
    prefix = request.node.callspec.id.replace(" ", "-")

    async def work() -> list[int]:
        async with two(url, embedded, clocks) as (here, there):
            for number, step in enumerate(STEPS):
                with dying(step), pytest.raises(Crash):
                    await here.services.jobs.submit(
                        ALICE, "mc", submission(prefix, number), f"{prefix}{number}"
                    )
            await die(here.services)
            first = [await submitted(there, prefix, number) for number in range(len(STEPS))]
            again = [await submitted(there, prefix, number) for number in range(len(STEPS))]
            assert first == again
            found = [await there.services.jobs.get(ALICE, "mc", str(each)) for each in first]
            assert {each.owner for each in found} == {ALICE.user}
            return first

    assert len(set(within(work()))) == len(STEPS)
    assert names(embedded, prefix) == Counter(f"{prefix}{number}" for number in range(len(STEPS)))


def test_the_projection_of_a_dead_replica_is_taken_over(url: str, embedded: Laboratory) -> None:
    async def work() -> tuple[bool, Any]:
        async with two(url, embedded, CLOCKS["one an hour ahead"]) as (here, there):
            jobid = (await there.services.jobs.submit(ALICE, "mc", submission("over", 1))).id
            before = await writer(there)
            await die(here.services)
            async with asyncio.timeout(60):
                while (job := await there.services.jobs.get(ALICE, "mc", str(jobid))).active:
                    await asyncio.sleep(0.02)
                await there.cluster.caught_up.wait()
            return before != await writer(there), job.result

    taken, result = within(work())
    assert taken
    assert result.name == "COMPLETED"


def test_a_slow_submit_stays_its_replicas_however_long_it_takes(
    url: str, embedded: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, began, go_on = RpcBulk.resubmit, threading.Event(), threading.Event()

    def slow(self: RpcBulk, *arguments: Any, **named: Any) -> Any:
        began.set()
        assert go_on.wait(60)
        return real(self, *arguments, **named)

    async def work() -> tuple[int, Any]:
        async with two(url, embedded) as (here, there):
            monkeypatch.setattr(RpcBulk, "resubmit", slow)
            first = asyncio.ensure_future(here.services.jobs.submit(ALICE, "mc", submission("slow", 1), "k"))
            await asyncio.to_thread(began.wait, 60)
            claimed = await _claim(there)
            async with asyncio.timeout(60):
                while await _claim(there) < claimed + 2 * FAST.claim_seconds:
                    await asyncio.sleep(0.05)
            with pytest.raises(HttpProblem, match="under-way"):
                await there.services.jobs.submit(ALICE, "mc", submission("slow", 1), "k")
            go_on.set()
            job = (await first).id
            return job, await there.services.jobs.submit(ALICE, "mc", submission("slow", 1), "k")

    job, again = within(work())
    assert (again.id, again.replayed) == (job, True)
    assert names(embedded, "slow") == Counter(slow1=1)


async def _claim(there: Replica) -> float:
    async with there.services.database.read() as connection:
        (row,) = await request_keys.pending(connection, there.cluster.id)
    return row.claimed_until


def test_an_instance_that_was_started_anew_is_one_for_both(
    url: str, embedded: Laboratory, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find it at the same time, and each would give it an id of its own."""
    lab = Laboratory("embedded", embedded.flux, short_folder / "anew", reached="embedded")
    real, both = registry.jobs.latest, asyncio.Barrier(2)

    async def latest(*arguments: Any) -> Any:
        await both.wait()
        return await real(*arguments)

    async def work() -> tuple[str, list[str]]:
        async with two(url, lab) as replicas:
            before = replicas[0].cluster.row.instance
            await replicas[0].services.jobs.submit(ALICE, "mc", submission("anew", 1))
            monkeypatch.setattr(registry.jobs, "latest", latest)
            lab.stop()
            shutil.rmtree(lab.folder / "0")
            await asyncio.to_thread(lab.start)
            for each in replicas:
                await until(lambda each=each: each.cluster.row.instance != before, "the new instance")
            return before, [each.cluster.row.instance for each in replicas]

    try:
        lab.start()
        before, found = within(work())
    finally:
        lab.stop()
    assert found[0] == found[1] != before
