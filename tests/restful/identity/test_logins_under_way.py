"""Logins that are under way when a password is reset, or a user disabled: none of them succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from restful.errors import HttpProblem
from restful.identity import (
    current_logins,
    devices,
    login_links,
    logins,
    personal_tokens,
    session_changes,
    token_answers,
    user_changes,
    web_sessions,
)
from restful.identity.oidc_logins import OidcLogins
from restful.identity.personal_tokens import TokenWish
from restful.identity.principal import Role
from restful.identity.scopes import OF_USERS
from restful.identity.token_answers import OAuthError
from restful.identity.user_changes import NewUser, UserChange
from restful.store import users
from restful.store.users import UserKind, UserState
from tests.restful.identity import service
from tests.restful.identity.provider import PROVIDER, FakeProvider
from tests.restful.identity.service import ADDRESS, PASSWORD, START, Service, caller, principal, within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from restful.identity.principal import Principal
    from restful.store.users import UserRecord

    Change = Callable[[Service, UserRecord], Awaitable[None]]

OTHER = "another long password"


async def _admin(here: Service) -> Principal:
    return principal(await here.ensure_admin("root"))


async def _reset(here: Service, user: UserRecord) -> None:
    await login_links.for_user(here.identities, await _admin(here), user.id, reset=True)


async def _changed(here: Service, user: UserRecord, **wanted: Any) -> None:
    change = UserChange(**wanted)
    await user_changes.change(here.identities, await _admin(here), user.id, UserKind.USER, change)


async def _another_password(here: Service, user: UserRecord) -> None:
    await _changed(here, user, password=OTHER)


async def _disabled(here: Service, user: UserRecord) -> None:
    await _changed(here, user, state=UserState.DISABLED)


async def _deleted(here: Service, user: UserRecord) -> None:
    await user_changes.remove(here.identities, await _admin(here), user.id, UserKind.USER)


async def _logged_in(here: Service, user: UserRecord, kind: str = "session") -> Principal:
    session = await web_sessions.open_session(here.identities, user, caller())
    return principal(user, kind, session.record.id)


async def _own_change(here: Service, user: UserRecord) -> None:
    asker = await _logged_in(here, user)
    await user_changes.change_password(here.identities, asker, PASSWORD, OTHER, caller("203.0.113.9"))


CHANGES = [
    pytest.param(_reset, id="reset"),
    pytest.param(_another_password, id="another password"),
    pytest.param(_disabled, id="disabled"),
    pytest.param(_deleted, id="deleted"),
]
AND_OWN = [*CHANGES, pytest.param(_own_change, id="changed by himself")]


@pytest.mark.parametrize("change", CHANGES)
def test_a_password_that_is_compared_meanwhile_lets_nobody_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            await here.ensure_admin("root")
            compare = here.identities.passwords.check

            async def check(stored: str | None, password: str) -> Any:
                found = await compare(stored, password)
                monkeypatch.undo()
                await change(here, alice)
                return found

            monkeypatch.setattr(here.identities.passwords, "check", check)
            found = await logins.authenticate(here.identities, "alice", PASSWORD, caller())
            here.clock.time += 10
            return found, await here.audit()

    user, log = within(work())
    assert user is None
    assert log[-1] == ("login", "denied")


def test_a_password_is_not_hashed_anew_over_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was hashed at a lower cost is hashed anew at its login, which may take until it was reset."""

    async def work() -> Any:
        async with service.opened(tmp_path) as first:
            alice = await first.add_user("alice")
            here = service.replica(first.identities.database, first.clock, number=1, argon2_passes=2)
            await here.ensure_admin("root")
            hash_one = here.identities.passwords.hash

            async def hashed(password: str) -> str:
                monkeypatch.undo()
                await _another_password(here, alice)
                return await hash_one(password)

            monkeypatch.setattr(here.identities.passwords, "hash", hashed)
            refused = await logins.authenticate(here.identities, "alice", PASSWORD, caller())
            here.clock.time += 10
            found = await logins.authenticate(here.identities, "alice", OTHER, caller())
            return refused, found is not None

    assert within(work()) == (None, True)


@pytest.mark.parametrize("change", AND_OWN)
@pytest.mark.parametrize("what", ["tokens", "session"])
def test_who_was_verified_before_the_change_gets_nothing(tmp_path: Path, what: str, change: Change) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            verified = await logins.authenticate(here.identities, "alice", PASSWORD, caller())
            assert verified is not None
            await change(here, verified)
            if what == "tokens":
                with pytest.raises(OAuthError) as refused:
                    await token_answers.after_login(here.identities, verified, OF_USERS, caller())
                return refused.value.description, await here.audit()
            with pytest.raises(HttpProblem) as problem:
                await web_sessions.open_session(here.identities, verified, caller())
            return problem.value.detail, await here.audit()

    words, log = within(work())
    assert words == current_logins.CHANGED
    assert log[-1] == ("login", "denied")


def test_who_comes_back_from_a_provider_gets_nothing(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            provider = FakeProvider(START)
            async with provider.client() as client:
                at_provider = OidcLogins(here.identities, PROVIDER, client)
                url, kept = await at_provider.begin("/")
                user, _ = await at_provider.finish(provider.log_in(url), kept, ADDRESS)
            await _disabled(here, user)
            with pytest.raises(HttpProblem) as problem:
                await web_sessions.open_session(here.identities, user, caller())
            return problem.value.detail

    assert within(work()) == current_logins.CHANGED


@pytest.mark.parametrize("change", AND_OWN)
def test_a_link_of_before_does_not_log_in(tmp_path: Path, change: Change) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            link = await web_sessions.login_link(here.identities, alice)
            await change(here, alice)
            return await web_sessions.redeem(here.identities, link, caller())

    assert within(work()) is None


async def _ended(here: Service, user: UserRecord) -> None:
    await session_changes.end_others(here.identities, await _logged_in(here, user))


@pytest.mark.parametrize("change", [*AND_OWN, pytest.param(_ended, id="ended his logins")])
def test_a_device_that_was_approved_before_gets_nothing(tmp_path: Path, change: Change) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            codes = await devices.start(here.identities, None, caller())
            await devices.decide(
                here.identities, await _logged_in(here, alice), codes.user_code, approve=True
            )
            await change(here, alice)
            with pytest.raises(OAuthError) as refused:
                await devices.poll(here.identities, codes.device_code, caller())
            return refused.value.error

    assert within(work()) in {"access_denied", "invalid_grant"}


async def _approve(here: Service, asker: Principal) -> None:
    codes = await devices.start(here.identities, None, caller())
    await devices.decide(here.identities, asker, codes.user_code, approve=True)


async def _make_token(here: Service, asker: Principal) -> None:
    wish = TokenWish("x", frozenset({"jobs:read"}), 3600.0)
    await personal_tokens.create(here.identities, asker, wish)


async def _change_password(here: Service, asker: Principal) -> None:
    await user_changes.change_password(here.identities, asker, OTHER, "a third long password", caller())


async def _make_user(here: Service, asker: Principal) -> None:
    await user_changes.create(here.identities, asker, NewUser("eve", Role.ADMIN))


async def _make_client(here: Service, asker: Principal) -> None:
    wish = TokenWish("secret", frozenset({"jobs:read"}), 3600.0)
    await user_changes.create_client(here.identities, asker, NewUser("eve"), wish)


async def _make_link(here: Service, asker: Principal) -> None:
    await login_links.for_user(here.identities, asker, asker.user, reset=False)


MADE = (_approve, _make_token)


@pytest.mark.parametrize(
    ("change", "act"),
    [
        *((change, act) for change in (_another_password, _disabled, _ended) for act in MADE),
        (_another_password, _change_password),
        (_another_password, _make_user),
        (_another_password, _make_client),
        (_another_password, _make_link),
    ],
)  # fmt: skip
def test_a_login_that_has_just_ended_makes_nothing(
    tmp_path: Path, change: Change, act: Callable[[Service, Principal], Awaitable[None]]
) -> None:
    """As at a replica that has not heard of it yet."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice", Role.ADMIN)
            asker = await _logged_in(here, alice)
            await change(here, alice)
            with pytest.raises(HttpProblem) as problem:
                await act(here, asker)
            async with here.identities.database.read() as connection:
                assert await users.by_name(connection, "eve") is None
            return problem.value.status, problem.value.detail

    assert within(work()) == (401, current_logins.ENDED)
