"""PostgreSQL killed at any moment while jobs are submitted: each is there once, and the log is whole."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

from minicluster.database import migrate
from restful import audit
from restful.clusters.spec import ClusterSpec
from restful.store import request_keys
from restful.store.schema import SCHEMA
from tests.database import postgresql
from tests.restful.faults.proof import Proof, instance
from tests.restful.faults.replica import Replica, replica
from tests.restful.jobs.service import BASE, C
from tests.restful.postgresql.test_job_replicas import names

if TYPE_CHECKING:
    from tests.conformance.laboratory import Laboratory
    from tests.database.postgresql import Server

CLIENTS, KEYS, KILLS = 4, 200, 20
ROUNDS = 600
"""Questions, a tenth of a second apart, until no request is left without its job."""


async def _submit(here: Replica, token: str, keys: list[int], statuses: Counter[int]) -> None:
    """Submit a job a key, each again until it is taken."""
    while keys:
        name = f"kill-{keys.pop()}"
        body, headers = {"command": ["true"], "name": name}, {"Idempotency-Key": name}
        while True:
            answer = await here.ask(token, "POST", f"{C}/jobs", json=body, headers=headers)
            statuses[answer.status_code] += 1
            if answer.status_code == 201:
                break
            await asyncio.sleep(0.05)


async def _kill(server: Server, keys: list[int], numbers: Random) -> int:
    """Kill the server now and then, as long as there are keys; return how often."""
    for kills in range(KILLS):
        left = KEYS * (KILLS - kills) // (KILLS + 1)
        while len(keys) > left:
            await asyncio.sleep(0.002)
        await asyncio.sleep(numbers.random() * 0.05)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
    return KILLS


async def _prove(server: Server, url: str, laboratory: Laboratory, proof: Proof) -> None:
    statuses = Counter[int]()
    await migrate(url, SCHEMA)
    async with replica(url, ClusterSpec("mc", laboratory.connect, base=BASE)) as here:
        await asyncio.wait_for(here.cluster.caught_up.wait(), 60)
        await here.grant_everyone()
        await here.add_user("alice")
        token = (await here.personal("alice", "jobs:read", "jobs:submit"))["token"]
        keys = list(range(KEYS))
        clients = [_submit(here, token, keys, statuses) for _ in range(CLIENTS)]
        async with asyncio.timeout(600):
            kills, *_ = await asyncio.gather(_kill(server, keys, Random(3)), *clients)
            await here.cluster.caught_up.wait()
            left = await _left(here)
        answer = await here.ask(token, "GET", f"{C}/jobs?limit=500")
        async with here.services.database.read() as connection:
            broken = await audit.first_broken(connection)
    once = Counter(f"kill-{number}" for number in range(KEYS))
    listed = Counter(each["name"] for each in answer.json()["jobs"])
    shown = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
    proof.fact(f"{KEYS} keys of {CLIENTS} clients, {kills} kills of the server ({shown})", holds=True)
    proof.fact("nothing but 201, 409, 429 and 503 was answered", holds=set(statuses) <= {201, 409, 429, 503})
    proof.fact("the instance has each job once", holds=names(laboratory, "kill-") == once)
    proof.fact("the service lists each job once", holds=listed == once)
    proof.fact(f"no request is left without its job ({len(left)})", holds=not left)
    proof.fact("the audit log is one chain", holds=broken is None)


async def _left(here: Replica) -> list[Any]:
    """Return the requests without a job, which the service is to complete by itself within ROUNDS."""
    for _ in range(ROUNDS):
        if not (left := await _pending(here)):
            break
        await asyncio.sleep(0.1)
    return left


async def _pending(here: Replica) -> list[Any]:
    async with here.services.database.read() as connection:
        return list(await request_keys.pending(connection, here.cluster.id))


def main() -> None:
    """Prove it, and print figures."""
    proof = Proof()
    with contextlib.contextmanager(postgresql.serving)() as server, instance() as laboratory:
        asyncio.run(_prove(server, server.database(), laboratory, proof))
    proof.end()


if __name__ == "__main__":
    main()
