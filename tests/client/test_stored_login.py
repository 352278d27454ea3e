"""LoginFile in a file of the user's own: renewed when they expire, by one process at a time."""

from __future__ import annotations

import multiprocessing
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.client import Client
from minicluster.client.connection import ServiceConnection
from minicluster.client.errors import BadAnswer, LoginFailed, NotLoggedIn, ServiceRefused, Unauthenticated
from minicluster.client.logins import Login, LoginFile, directory
from minicluster.client.oauth import approved, device_code
from minicluster.client.stored import stored_connection
from tests.client.fake_service import LOST, problem

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.conftest import Clock
    from tests.client.fake_service import Answer, Request, Service

TOKEN = "/v2/oauth/token"


class PersonalTokens:
    """Access tokens a1, a2, … for refresh tokens r0, r1, …: each of these is good once."""

    def __init__(self, service: Service) -> None:
        self.number = 0
        service.routes["POST", TOKEN] = self.refresh
        service.routes["GET", "/v2/clusters"] = self.clusters

    def refresh(self, request: Request) -> Answer:
        """Give the next pair; the same again for the token before, as within ten seconds."""
        given = request.form["refresh_token"]
        if given not in {f"r{self.number}", f"r{self.number - 1}"}:
            return 400, {"error": "invalid_grant", "error_description": "the refresh token was used before"}
        self.number = int(given[1:]) + 1
        return 200, {
            "access_token": f"a{self.number}",
            "refresh_token": f"r{self.number}",
            "expires_in": 600,
            "token_type": "Bearer",
        }

    def clusters(self, request: Request) -> Answer:
        """Answer to the last access token alone."""
        if request.headers.get("authorization") != f"Bearer a{self.number}":
            return 401, problem("unauthenticated", "The token has expired.")
        return 200, {"clusters": []}


@pytest.fixture
def tokens(service: Service) -> PersonalTokens:
    return PersonalTokens(service)


@pytest.fixture
def logins(tmp_path: Path) -> LoginFile:
    return LoginFile(tmp_path / "minicluster")


def store(logins: LoginFile, server: str, login: Login) -> None:
    """Store a login."""
    with logins.locked() as found:
        found[server] = login


def test_a_token_is_renewed_before_it_expires(
    service: Service, tokens: PersonalTokens, logins: LoginFile, clock: Clock
) -> None:
    store(logins, service.url, Login("a0", clock.now() + 600, "r0", "/ca.pem"))
    with Client(service.url, logins=logins, timing=clock.timing) as client:
        assert client.clusters() == []
        clock.sleep(580)
        assert client.clusters() == []
    assert service.lines() == ["GET /v2/clusters", f"POST {TOKEN}", "GET /v2/clusters"]
    assert logins.get(service.url) == Login("a1", clock.now() + 600, "r1", "/ca.pem")


def test_a_token_that_was_revoked_is_renewed_once(
    service: Service, tokens: PersonalTokens, logins: LoginFile, clock: Clock
) -> None:
    store(logins, service.url, Login("old", clock.now() + 600, "r0"))
    with Client(service.url, logins=logins, timing=clock.timing) as client:
        assert client.clusters() == []
        service.fault("GET", (401, problem("unauthenticated", "The user may not log in")))
        service.fault("GET", (401, problem("unauthenticated", "The user may not log in")))
        with pytest.raises(ServiceRefused, match="may not log in"):
            client.clusters()
    assert tokens.number == 2


def test_a_refresh_whose_answer_was_lost_is_sent_again(
    service: Service, tokens: PersonalTokens, logins: LoginFile, clock: Clock
) -> None:
    store(logins, service.url, Login("a0", 0.0, "r0"))
    service.fault(f"POST {TOKEN}", LOST)
    with Client(service.url, logins=logins, timing=clock.timing) as client:
        assert client.clusters() == []
    assert [each.form["refresh_token"] for each in service.requests if each.body] == ["r0", "r0"]


def test_a_login_that_has_ended_is_named(
    service: Service, tokens: PersonalTokens, logins: LoginFile, clock: Clock
) -> None:
    store(logins, service.url, Login("a0", 0.0, "stolen"))
    message = f"used before.*: `minicluster login --server {service.url}`"
    with (
        Client(service.url, logins=logins, timing=clock.timing) as client,
        pytest.raises(NotLoggedIn, match=message),
    ):
        client.clusters()


def test_without_a_login_it_is_named(logins: LoginFile) -> None:
    with (
        Client("https://mc.example", logins=logins) as client,
        pytest.raises(NotLoggedIn, match="not logged in to https://mc"),
    ):
        client.clusters()


def test_a_server_on_loopback_may_need_no_login(service: Service, logins: LoginFile, clock: Clock) -> None:
    service.routes["GET", "/v2/clusters"] = lambda _request: (200, {"clusters": []})
    with Client(service.url, logins=logins, timing=clock.timing) as client:
        assert client.clusters() == []
    assert "authorization" not in {name.lower() for name in service.requests[-1].headers}


def test_one_that_needs_a_login_is_named(
    service: Service, tokens: PersonalTokens, logins: LoginFile, clock: Clock
) -> None:
    with (
        Client(service.url, logins=logins, timing=clock.timing) as client,
        pytest.raises(Unauthenticated, match=f"`minicluster login --server {service.url}`"),
    ):
        client.clusters()


def _asks(server: str, where: Path, gate: Any, done: Any) -> None:
    """Ask for the clusters once all processes are there."""
    connection = stored_connection(server, LoginFile(where))
    gate.wait(60)
    done.put(connection.get("/v2/clusters"))
    connection.close()


def test_of_two_processes_only_one_refreshes(
    service: Service, tokens: PersonalTokens, tmp_path: Path
) -> None:
    where = tmp_path / "minicluster"
    store(LoginFile(where), service.url, Login("a0", 0.0, "r0"))
    context = multiprocessing.get_context("spawn")
    gate, done = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_asks, args=(service.url, where, gate, done)) for _ in range(2)]
    for each in processes:
        each.start()
    assert [done.get(timeout=60) for _ in processes] == [{"clusters": []}] * 2
    for each in processes:
        each.join(60)
    assert service.lines().count(f"POST {TOKEN}") == 1
    stored = LoginFile(where).get(service.url)
    assert stored is not None
    assert (stored.token, stored.refresh_token) == ("a1", "r1")


def test_nobody_else_may_read_the_file(logins: LoginFile, tmp_path: Path) -> None:
    store(logins, "https://a", Login("t"))
    folder, file = tmp_path / "minicluster", tmp_path / "minicluster" / "logins.json"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()] == [0o600, 0o600]
    file.chmod(0o640)
    with pytest.raises(NotLoggedIn, match=r"is open to other users: `chmod 600 .*logins.json`"):
        logins.get("https://a")
    file.chmod(0o600)
    folder.chmod(0o755)
    with pytest.raises(NotLoggedIn, match="chmod 700"):
        store(logins, "https://b", Login("t"))


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "servers": {"a": {"token": 1}}}'])
def test_a_file_that_cannot_be_read_is_named(logins: LoginFile, tmp_path: Path, text: str) -> None:
    store(logins, "https://a", Login("t"))
    (tmp_path / "minicluster" / "logins.json").write_text(text)
    with pytest.raises(NotLoggedIn, match="cannot be read: remove it, and log in again"):
        logins.servers()


def test_each_server_has_its_entry(logins: LoginFile) -> None:
    store(logins, "https://b", Login("1"))
    store(logins, "https://a", replace(Login("2"), ca_file="/ca"))
    assert logins.servers() == ["https://a", "https://b"]
    with logins.locked() as found:
        del found["https://a"]
    assert logins.servers() == ["https://b"]


@pytest.mark.parametrize(
    ("environment", "where"),
    [
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/minicluster"),
        ({"HOME": "/h"}, "/h/.config/minicluster"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/minicluster"),
    ],
)
def test_where_the_file_is(environment: dict[str, str], where: str) -> None:
    assert str(directory(environment)) == where


CODE = {
    "device_code": "mcd_secret",
    "user_code": "BCDF-GHJK",
    "verification_uri": "https://mc/device",
    "expires_in": 600,
    "interval": 5,
}


def polls(service: Service, *answers: Any) -> None:
    """Let the requests for a device's token have these answers."""
    left = list(answers)
    service.routes["POST", "/v2/oauth/device"] = lambda _: (200, CODE)
    service.routes["POST", TOKEN] = lambda _: left.pop(0)


def refused(error: str) -> Answer:
    """Return OAuth's refusal."""
    return 400, {"error": error, "error_description": f"because of {error}"}


GRANTED = (200, {"access_token": "a1", "refresh_token": "r1", "expires_in": 600})


def test_a_device_waits_for_its_user(service: Service, clock: Clock) -> None:
    """As slowly as the service asks, and longer after a request without an answer (RFC 8628, 3.5)."""
    polls(service, refused("authorization_pending"), refused("slow_down"), LOST, GRANTED)
    connection = ServiceConnection(service.url, timing=clock.timing)
    login = approved(connection, device_code(connection, "jobs:read"))
    assert login == Login("a1", clock.now() + 600, "r1")
    assert clock.slept == [5, 5, 10, 15]
    assert service.requests[0].form == {"client_id": "minicluster", "scope": "jobs:read"}
    connection.close()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (refused("access_denied"), "the login was denied at the page"),
        (refused("expired_token"), "the code has expired before it was approved"),
        (refused("invalid_grant"), "because of invalid_grant"),
    ],
)
def test_a_device_that_is_denied(service: Service, clock: Clock, answer: Answer, message: str) -> None:
    polls(service, answer)
    connection = ServiceConnection(service.url, timing=clock.timing)
    with pytest.raises(LoginFailed, match=message):
        approved(connection, device_code(connection))
    connection.close()


def test_a_device_stops_when_its_code_has_expired(service: Service, clock: Clock) -> None:
    polls(service, *[refused("authorization_pending")] * 20)
    service.routes["POST", "/v2/oauth/device"] = lambda _: (200, {**CODE, "expires_in": 60})
    connection = ServiceConnection(service.url, timing=clock.timing)
    with pytest.raises(LoginFailed, match="has expired"):
        approved(connection, device_code(connection))
    assert sum(clock.slept) < 60
    polls(service, (200, {}))
    with pytest.raises(BadAnswer, match="answers a login with no token"):
        approved(connection, device_code(connection))
    connection.close()
