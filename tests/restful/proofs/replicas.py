"""Two replicas over one PostgreSQL, by the real clock: how soon a revocation ends requests and streams."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from minicluster.database import migrate
from restful.clusters.spec import ClusterSpec
from restful.identity.scopes import GrantRole
from restful.settings import ClusterLimits
from restful.store import groups, users
from restful.store.groups import GrantRecord
from restful.store.schema import SCHEMA
from restful.store.users import UserState
from tests.database import postgresql
from tests.restful.faults.proof import Proof, instance
from tests.restful.faults.replica import Replica, replica
from tests.restful.jobs.service import BASE, C
from tests.restful.output.driver import request
from tests.restful.postgresql.test_job_replicas import ALICE, die, submission

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.conformance.laboratory import Laboratory
    from tests.restful.output.driver import Exchange

REQUESTS, STREAMS, TAKEOVER = 5.0, 10.0, 30.0
"""Seconds, at most."""
USERS = ("revoked", "disabled", "without a grant")
LIMITS = ClusterLimits(batch_seconds=0.01)
"""What a service has by default, but for the batches."""


async def _refused(replica: Replica, token: str) -> float:
    """Return when a token was refused."""
    while (await replica.ask(token, "GET", C)).status_code == 200:
        await asyncio.sleep(0.1)
    return time.monotonic()


async def _ended(exchange: Exchange) -> float:
    """Return when a stream has ended."""
    assert exchange.task is not None
    await exchange.task
    return time.monotonic()


async def _ends(both: tuple[Replica, Replica], proof: Proof) -> None:
    """End three users' rights at one replica, and wait for both."""
    here = both[0]
    ids = {each: await here.add_user(each.replace(" ", "-")) for each in USERS}
    await here.add_user("root-of-all")
    grants = {each: await _granted(here, user) for each, user in ids.items()}
    tokens = {
        each: await here.personal(each.replace(" ", "-"), "jobs:read", "clusters:read") for each in USERS
    }
    changes: dict[str, Callable[[], Awaitable[object]]] = {
        "revoked": lambda: here.client.post("/v2/oauth/revoke", data={"token": tokens["revoked"]["token"]}),
        "disabled": lambda: _disabled(here, ids["disabled"]),
        "without a grant": lambda: _ungranted(here, grants["without a grant"]),
    }
    for each in USERS:
        token = tokens[each]["token"]
        headers = {"Authorization": f"Bearer {token}"}
        streams = [request(one.app, f"{C}/events", headers=headers) for one in both]
        for stream in streams:
            await stream.has(b"retry")
        assert [(await one.ask(token, "GET", C)).status_code for one in both] == [200, 200]
        begun = time.monotonic()
        await changes[each]()
        async with asyncio.timeout(60):
            refused = [at - begun for at in await asyncio.gather(*(_refused(one, token) for one in both))]
            ended = [at - begun for at in await asyncio.gather(*map(_ended, streams))]
        words = ", ".join(f"{at:.1f}" for at in refused)
        proof.fact(f"{each}: requests are refused after {words} s", holds=max(refused) <= REQUESTS)
        words = ", ".join(f"{at:.1f}" for at in ended)
        proof.fact(f"{each}: streams end after {words} s", holds=max(ended) <= STREAMS)


async def _granted(here: Replica, user: str) -> str:
    grant = GrantRecord(here.identities.new_id(), "mc", GrantRole.USE, here.identities.now(), user)
    async with here.identities.change() as connection:
        await groups.add_grant(connection, grant)
    return grant.id


async def _ungranted(here: Replica, grant: str) -> None:
    async with here.identities.change() as connection:
        await groups.remove_grant(connection, grant)


async def _disabled(here: Replica, user: str) -> None:
    async with here.identities.change() as connection:
        await users.change(connection, user, {"state": UserState.DISABLED}, end=True)


async def _takeover(both: tuple[Replica, Replica], proof: Proof) -> None:
    """End the replica that writes the projection, and wait until a job has ended at the other one."""
    here, there = both
    await there.grant_everyone()
    await die(here.services)
    begun = time.monotonic()
    job = (await there.services.jobs.submit(ALICE, "mc", submission("over", 1))).id
    async with asyncio.timeout(120):
        while (await there.services.jobs.get(ALICE, "mc", str(job))).active:
            await asyncio.sleep(0.1)
    seconds = time.monotonic() - begun
    proof.fact(f"the projection was taken over after {seconds:.1f} s", holds=seconds <= TAKEOVER)


async def _prove(url: str, laboratory: Laboratory, proof: Proof) -> None:
    await migrate(url, SCHEMA)
    spec = ClusterSpec("mc", laboratory.connect, base=BASE)
    async with replica(url, spec, limits=LIMITS) as here, replica(url, spec, limits=LIMITS) as there:
        await asyncio.wait_for(here.cluster.caught_up.wait(), 60)
        while there.cluster.connection.reason:
            await asyncio.sleep(0.05)
        await _ends((here, there), proof)
        await _takeover((here, there), proof)


def main() -> None:
    """Prove it, and print figures."""
    proof = Proof()
    with contextlib.contextmanager(postgresql.serving)() as server, instance() as laboratory:
        asyncio.run(_prove(server.database(), laboratory, proof))
    proof.end()


if __name__ == "__main__":
    main()
