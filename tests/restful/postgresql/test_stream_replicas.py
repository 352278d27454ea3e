"""Live streams at two replicas end once their reader's rights do, at whichever replica that happens."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest

from restful import services
from restful.clusters.spec import ClusterSpec
from restful.identity.scopes import GrantRole
from restful.jobs.output.limits import StreamLimits
from restful.store import groups, users
from restful.store.groups import GrantRecord
from restful.store.users import UserState
from tests.restful.faults.replica import Replica, replica
from tests.restful.jobs.service import BASE, C, within
from tests.restful.output.driver import request, until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.conformance.laboratory import Laboratory

LIMITS = partial(StreamLimits, access_interval=0.02)


async def revoked(here: Replica, _: str, token: str) -> None:
    assert (await here.client.post("/v2/oauth/revoke", data={"token": token})).status_code == 200


async def disabled(here: Replica, user: str, _: str) -> None:
    async with here.identities.change() as connection:
        await users.change(connection, user, {"state": UserState.DISABLED}, end=True)


async def without_a_grant(here: Replica, user: str, _: str) -> None:
    async with here.identities.change() as connection:
        for each in await groups.grants(connection, "mc"):
            if each.user == user:
                await groups.remove_grant(connection, each.id)


async def reader(here: Replica, name: str) -> tuple[str, str]:
    """Make a user who may use the cluster; return his id and a token."""
    user = await here.add_user(name)
    grant = GrantRecord(here.identities.new_id(), "mc", GrantRole.USE, here.identities.now(), user)
    async with here.identities.change() as connection:
        await groups.add_grant(connection, grant)
    return user, (await here.personal(name, "jobs:read", "clusters:read"))["token"]


@pytest.mark.parametrize("change", [revoked, disabled, without_a_grant])
def test_streams_end_with_their_readers_rights_and_others_go_on(
    url: str,
    embedded: Laboratory,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Replica, str, str], Awaitable[None]],
) -> None:
    monkeypatch.setattr(services, "StreamLimits", LIMITS)
    spec = ClusterSpec("mc", embedded.connect, base=BASE)

    async def work() -> tuple[list[bool], list[int]]:
        async with (
            replica(url, spec, revision_interval=0.1) as here,
            replica(url, spec, revision_interval=0.1) as there,
        ):
            both = (here, there)
            for each in both:
                await until(lambda each=each: not each.cluster.connection.reason, "it is connected")
            (user, token), (_, other) = await reader(here, "alice"), await reader(here, "bob")
            streams = [
                request(each.app, f"{C}/events", headers={"Authorization": f"Bearer {who}"})
                for who in (token, other)
                for each in both
            ]
            for stream in streams:
                await stream.has(b"retry")
            await change(here, user, token)
            for stream in streams[:2]:
                await stream.ended()
            go_on = [stream.task is not None and not stream.task.done() for stream in streams]
            refused = [(await each.ask(token, "GET", C)).status_code for each in both]
            await asyncio.gather(*(stream.hang_up() for stream in streams[2:]))
            return go_on, refused

    go_on, refused = within(work())
    assert go_on == [False, False, True, True]
    assert set(refused) <= {401, 404}
