"""The client's logins, tokens and users against the service's own routes."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.client import Client, oauth
from minicluster.client.connection import Call, ServiceConnection
from minicluster.client.errors import Conflict, LoginFailed, NotLoggedIn, ServiceRefused, Unauthenticated
from minicluster.client.logins import LoginFile
from minicluster.client.timing import Timing
from restful.identity.principal import Role
from tests.client.loopback import on_loopback
from tests.restful.identity.service import PASSWORD, START, Clock, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from fastapi import FastAPI


class Here:
    """A service with alice and the admin root, and its clock."""

    def __init__(self) -> None:
        self.url = ""
        self.clock = Clock(START)

    @property
    def timing(self) -> Timing:
        """The service's clock: it passes where the client sleeps."""
        return Timing(self.clock, self.clock, self.sleep, random.random)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.time += seconds

    def connection(self) -> ServiceConnection:
        """Return one without a token."""
        return ServiceConnection(self.url, timing=self.timing)

    def client(self, name: str = "alice") -> Client:
        """Return a client that has logged in by password."""
        with contextlib.closing(self.connection()) as connection:
            login = oauth.by_password(connection, name, PASSWORD)
        return Client(self.url, login.token, timing=self.timing)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    found = Here()

    @contextlib.asynccontextmanager
    async def app() -> AsyncIterator[FastAPI]:
        async with opened(tmp_path) as service:
            found.clock = service.clock
            await service.add_user("alice")
            await service.add_user("root", Role.ADMIN)
            yield service.app

    with on_loopback(app) as found.url:
        yield found


def decide(here: Here, code: str, *, approve: bool) -> Any:
    """Answer a device's code as alice."""
    with here.client() as alice:
        call = Call("POST", "/v2/me/device", body={"user_code": code, "approve": approve})
        return alice._connection.call(call)


def test_a_device_is_approved(here: Here) -> None:
    """After a poll that is too early, which the service answers with slow_down."""
    with contextlib.closing(here.connection()) as connection:
        code = oauth.device_code(connection, "jobs:read clusters:read")
        early = Call("POST", "/v2/oauth/token", form={
            "client_id": "minicluster", "grant_type": oauth.DEVICE_GRANT, "device_code": code.device_code,
        })  # fmt: skip
        for word in ("authorization_pending", "slow_down"):
            with pytest.raises(ServiceRefused) as error:
                connection.call(early)
            assert error.value.type == word
        decide(here, code.user_code, approve=True)
        login = oauth.approved(connection, code)
    with Client(here.url, login.token, timing=here.timing) as client:
        assert (client.me()["name"], client.me()["scopes"]) == ("alice", "clusters:read jobs:read")


def test_a_device_is_denied(here: Here) -> None:
    with contextlib.closing(here.connection()) as connection:
        code = oauth.device_code(connection)
        decide(here, code.user_code, approve=False)
        with pytest.raises(LoginFailed, match="denied at the page"):
            oauth.approved(connection, code)


def test_a_login_is_renewed_until_it_is_ended(here: Here, tmp_path: Path) -> None:
    logins = LoginFile(tmp_path / "minicluster")
    with contextlib.closing(here.connection()) as connection:
        first = oauth.by_password(connection, "alice", PASSWORD)
        with logins.locked() as stored:
            stored[here.url] = first
        with Client(here.url, logins=logins, timing=here.timing) as client:
            for _ in range(3):
                here.sleep(590)
                assert client.me()["name"] == "alice"
            last = logins.get(here.url)
            assert last is not None
            assert last.refresh_token != first.refresh_token
            oauth.revoke(connection, last.refresh_token)
            here.sleep(700)
            with pytest.raises(NotLoggedIn, match=r"the login has ended .*: `minicluster login"):
                client.me()


def test_a_wrong_password(here: Here) -> None:
    with contextlib.closing(here.connection()) as connection, pytest.raises(LoginFailed) as error:
        oauth.by_password(connection, "alice", "another one entirely")
    assert error.value.error == "invalid_grant"


def test_personal_tokens(here: Here) -> None:
    with here.client() as client:
        made = client.tokens.create("ci", ["jobs:read"], 3600)
        with Client(here.url, made.text, timing=here.timing) as script:
            assert script.me()["scopes"] == "jobs:read"
            assert [each.id for each in client.tokens.all()] == [made.record.id]
            client.tokens.revoke(made.record.id)
            here.sleep(5)
            with pytest.raises(Unauthenticated, match="unknown or revoked"):
                script.me()


def test_users(here: Here) -> None:
    with here.client("root") as admin:
        bob = admin.users.create("bob", email="bob@example.org")
        with pytest.raises(Conflict):
            admin.users.create("bob")
        assert admin.users.change(bob.id, role="operator").role == "operator"
        assert [each.name for each in admin.users.all()] == ["alice", "bob", "root"]
        admin.users.delete(bob.id)
        assert admin.users.named("bob") is None
