"""Links that an admin makes for a user: each logs him in once, and a reset ends what was before."""

from pathlib import Path
from typing import Any

import pytest

from restful.errors import HttpProblem
from restful.identity import login_links, user_changes, web_sessions
from restful.identity.principal import Role
from restful.identity.user_changes import UserChange
from restful.store import users
from restful.store.users import UserKind, UserState
from tests.restful.identity import service
from tests.restful.identity.service import PASSWORD, caller, principal, within


@pytest.mark.parametrize("reset", [False, True])
def test_a_link_logs_in_once(tmp_path: Path, reset: bool) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            identities = here.identities
            root, alice = await here.add_user("root", Role.ADMIN), await here.add_user("alice")
            before = await here.headers("alice")
            token = await login_links.for_user(identities, principal(root), alice.id, reset=reset)
            went_on = (await here.client.get("/v2/me", headers=before)).status_code == 200
            login = await here.token(grant_type="password", username="alice", password=PASSWORD)
            found = [await web_sessions.redeem(identities, token, caller()) for _ in range(2)]
            here.clock.time += 60
            log = [each for each, _ in await here.audit() if each in {"link.create", "password.reset"}]
            return went_on, login.status_code, [each is not None for each in found], log

    went_on, login, found, log = within(work())
    assert (went_on, login) == ((False, 400) if reset else (True, 200))
    assert found == [True, False]
    assert log == (["password.reset"] if reset else ["link.create"])


async def problem(here: service.Service, who: Any, user: str, *, reset: bool) -> tuple[str, str]:
    """Return the problem of a link that is not made."""
    with pytest.raises(HttpProblem) as caught:
        await login_links.for_user(here.identities, principal(who), user, reset=reset)
    return caught.value.type, caught.value.detail


def test_for_whom_there_is_no_link(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            root, alice = await here.add_user("root", Role.ADMIN), await here.add_user("alice")
            locked = UserChange(state=UserState.LOCKED)
            await user_changes.change(here.identities, principal(root), alice.id, UserKind.USER, locked)
            found = [
                await problem(here, root, "0" * 26, reset=False),
                await problem(here, root, alice.id, reset=True),
                await problem(here, root, root.id, reset=True),
            ]
            async with here.identities.database.read() as connection:
                after = await users.by_id(connection, root.id)
            return found, after is not None and after.password is not None

    found, kept = within(work())
    assert found == [
        ("not-found", ""),
        ("conflict", "The user is locked, and a link would not log him in."),
        ("conflict", "This is you: change your password, which ends your other logins."),
    ]
    assert kept


def test_a_link_ends_with_its_time(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            root, alice = await here.add_user("root", Role.ADMIN), await here.add_user("alice")
            token = await login_links.for_user(here.identities, principal(root), alice.id, reset=False)
            here.clock.time += 901
            return await web_sessions.redeem(here.identities, token, caller())

    assert within(work()) is None
