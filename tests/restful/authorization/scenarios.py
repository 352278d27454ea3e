"""What one request does not show: keys of several users, and streams that outlive their reader's rights."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from restful.identity.principal import Role
from restful.jobs.output.limits import StreamLimits
from restful.jobs.output.streams import streams
from restful.store import groups, tokens, users
from restful.store.users import UserState
from tests.restful.authorization.requests import Answer, Sent
from tests.restful.authorization.service import SHARED
from tests.restful.authorization.users import USER_OF, Asker, add_token, shown_by

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from restful.store.users import UserRecord
    from tests.restful.authorization.service import Everything

C = f"/v2/clusters/{SHARED}"
OFTEN = StreamLimits(access_interval=0.01, access_timeout=5.0)
DEADLINE = 240.0


async def mismatches(here: Everything, deadline: float = DEADLINE) -> AsyncIterator[str]:
    """Yield what is not as it must be, at clusters with the tenancy `shared`.

    A stream that must end and has not done so within `deadline` seconds goes on.
    """
    if not await keys_are_apart(here):
        yield "an Idempotency-Key of somebody else leads to his job"
    async for each in open_streams(here, deadline):
        yield each


async def keys_are_apart(here: Everything) -> bool:
    """Return whether two users with the same key and the same job have two jobs."""
    found = []
    for asker in (Asker.OWNER, Asker.BYSTANDER):
        shown = await shown_by(here.identities, asker, here.users[USER_OF[asker]])
        headers = {"authorization": f"Bearer {shown.bearer}", "idempotency-key": "the same"}
        answer = await here.ask(Sent("POST", f"{C}/jobs", headers, body={"command": ["true"]}))
        found.append((answer.status, answer.json().get("id")))
    return found[0] != found[1] and {status for status, _ in found} == {201}


async def _revoke(here: Everything, user: UserRecord, token: str) -> None:
    async with here.identities.change() as connection:
        await tokens.revoke(connection, user.id, token, here.clock())


async def _disable(here: Everything, user: UserRecord, _: str) -> None:
    async with here.identities.change() as connection:
        await users.change(connection, user.id, {"state": UserState.DISABLED}, end=True)


async def _take_grants(here: Everything, user: UserRecord, _: str) -> None:
    async with here.identities.change() as connection:
        for each in await groups.grants(connection):
            if each.user == user.id:
                await groups.remove_grant(connection, each.id)


async def _take_role(here: Everything, user: UserRecord, _: str) -> None:
    async with here.identities.change() as connection:
        await users.change(connection, user.id, {"role": Role.USER}, end=True)


async def _take_nothing(_here: Everything, _user: UserRecord, _: str) -> None:
    """Let the stream go on."""


Change = tuple[str, str, str, str, "Callable[[Everything, UserRecord, str], Awaitable[None]]", bool]
CHANGES: tuple[Change, ...] = (
    ("nothing", "alice", "alice", "/jobs/{}/output", _take_nothing, False),
    ("the token", "alice", "alice", "/jobs/{}/output", _revoke, True),
    ("the grant", "alice", "alice", "/jobs/{}/output", _take_grants, True),
    ("the grant", "work", "work", "/events", _take_grants, True),
    ("the role", "olga", "alice", "/jobs/{}/output", _take_role, True),
    ("the user", "otto", "otto", "/events", _disable, True),
)
"""What is taken away, of whom, while he reads whose job where; and whether his stream must end."""


async def open_streams(here: Everything, deadline: float) -> AsyncIterator[str]:
    """Yield which streams go on that must end, and the reverse."""
    usual, here.instances[SHARED].endless = here.app.state.services, True
    here.app.state.services = replace(here.services, streams=streams(OFTEN))
    try:
        for change in CHANGES:
            ended = await _ends(here, change, deadline)
            if ended is not change[-1]:
                yield f"without {change[0]} the stream of {change[3]} {'ends' if ended else 'goes on'}"
    finally:
        await here.app.state.services.streams.hub.close()
        here.app.state.services, here.instances[SHARED].endless = usual, False


async def _ends(here: Everything, change: Change, deadline: float) -> bool:
    """Return whether a stream ends once something is taken away."""
    _, reader, owner, path, take, must_end = change
    user = here.users[reader]
    token, text = await add_token(here.identities, user)
    query = {"follow": "true", "format": "json"} if path.endswith("output") else {}
    where = f"{C}{path.format(here.job_of[SHARED, owner])}"
    answer = Answer()
    asking: asyncio.Task[Any] = asyncio.create_task(
        here.ask(Sent("GET", where, {"authorization": f"Bearer {text}"}, query), answer)
    )
    try:
        async with asyncio.timeout(DEADLINE):
            while not (answer.status and answer.body):
                await asyncio.sleep(0.001)
        await take(here, user, token)
        await asyncio.wait([asking], timeout=deadline if must_end else 20 * OFTEN.access_interval)
        return asking.done()
    finally:
        asking.cancel()
        await asyncio.wait([asking])
