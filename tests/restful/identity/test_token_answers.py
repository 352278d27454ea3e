"""Families of refresh tokens, where two replicas or a revocation come in between."""

from pathlib import Path
from typing import Any

from sqlalchemy import update

from restful.store.sessions import SESSIONS
from tests.restful.identity import service
from tests.restful.identity.service import START, within


def test_a_successor_that_a_revocation_overlooked_is_not_good(tmp_path: Path) -> None:
    """One that was stored while all of its family was being revoked: the first of the family decides."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            first = (await here.login("alice"))["refresh_token"]
            second = (await here.token(grant_type="refresh_token", refresh_token=first)).json()
            async with here.identities.change() as connection:
                begun = SESSIONS.c.id == SESSIONS.c.family
                await connection.execute(update(SESSIONS).where(begun).values(revoked=START))
            return await here.token(grant_type="refresh_token", refresh_token=second["refresh_token"])

    assert within(work()).json()["error_description"] == "the refresh token is revoked"


def test_who_was_slower_gets_what_the_faster_one_got(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            there = service.replica(here.identities.database, here.clock, number=1)
            await here.add_user("alice")
            form = {
                "grant_type": "refresh_token",
                "refresh_token": (await here.login("alice"))["refresh_token"],
            }
            return [(await each.token(**form)).json()["refresh_token"] for each in (here, there)]

    one, other = within(work())
    assert one == other
