"""A link that logs in once gives tokens as well: for who has no password yet, and no browser."""

from pathlib import Path
from typing import Any

from restful.identity import web_sessions
from restful.routes import oauth
from restful.store import users
from restful.store.users import UserState
from tests.restful.identity import service
from tests.restful.identity.service import bearer, within


def test_a_link_gives_tokens_once(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            link = await web_sessions.first_admin_link(here.identities)
            form = {"grant_type": oauth.LINK_GRANT, "token": link or ""}
            first, again = [await here.token(**form) for _ in range(2)]
            own = bearer(first.json()["access_token"])
            made = await here.client.post("/v2/users", json={"name": "alice", "role": "admin"}, headers=own)
            return first, again, made.status_code, await here.audit()

    first, again, made, log = within(work())
    assert (first.status_code, "users:manage" in first.json()["scope"], made) == (200, True, 201)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert [each for each in log if each[0] == "login"][:2] == [("login", "ok"), ("login", "denied")]


def test_a_link_of_a_locked_user_gives_nothing(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice", password=None)
            link = await web_sessions.login_link(here.identities, alice)
            async with here.identities.change() as connection:
                await users.change(connection, alice.id, {"state": UserState.LOCKED}, end=True)
            return await here.token(grant_type=oauth.LINK_GRANT, token=link)

    assert within(work()).json()["error"] == "invalid_grant"
