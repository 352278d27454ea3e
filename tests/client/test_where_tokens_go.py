"""A token goes to its server alone, and is in no address, log or text."""

from __future__ import annotations

import logging
import pickle
from typing import TYPE_CHECKING

import pytest

from minicluster.client import Client
from minicluster.client.addresses import server_of
from minicluster.client.credentials import GivenToken, token_in
from minicluster.client.errors import BadAnswer, ClientError, NotLoggedIn, ServerAway, WrongServer
from minicluster.client.http_session import ServerSession
from minicluster.client.logins import Login
from minicluster.client.oauth import DeviceCode
from tests.client.fake_jobs import JOBS
from tests.client.fake_service import LOST, running

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.conftest import Clock
    from tests.client.fake_jobs import FakeJobs
    from tests.client.fake_service import Service

SECRET = "mcp_0123456789secret"


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("https://MC.example.org:443/", "https://mc.example.org"),
        (" https://mc.example.org:8443 ", "https://mc.example.org:8443"),
        ("https://mc.example.org/flux/", "https://mc.example.org/flux"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.9.9.9", "http://127.9.9.9"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_an_address_has_one_form(text: str, server: str) -> None:
    assert server_of(text) == server


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("http://mc.example.org", "in the clear, for everyone on the way; use https://mc.example.org"),
        ("http://10.0.0.1:8080", "in the clear"),
        ("http://localhost.example.org", "in the clear"),
        ("http://127.0.0.1.example.org", "in the clear"),
        ("https://alice:pw@mc.example.org", "has a user or a password in it"),
        (
            "https://mc.example.org?token=1",
            "is no address of a server; right would be https://mc.example.org",
        ),
        ("mc.example.org", "is no address of a server"),
        ("ftp://mc.example.org", "is no address of a server"),
        ("https://mc.example.org:port", "is no address of a server"),
        ("https://[::1", "is no address of a server"),
    ],
)
def test_an_address_is_refused(text: str, message: str) -> None:
    with pytest.raises(WrongServer, match=message.replace("?", "[?]")) as error:
        server_of(text)
    assert "pw" not in str(error.value)


def test_it_is_in_a_header_alone(
    service: Service, jobs: FakeJobs, caplog: pytest.LogCaptureFixture, clock: Clock
) -> None:
    caplog.set_level(logging.DEBUG)
    with Client(service.url, SECRET, timing=clock.timing) as client:
        service.fault("POST", LOST)
        job = client.submit("mc", ["true"])
        texts = [repr(each) for each in (client, client._connection, job, client.tokens)]
        for _ in range(30):
            service.fault("GET", LOST)
        with pytest.raises(ServerAway) as error:
            client.clusters()
    assert all(each.headers["authorization"] == f"Bearer {SECRET}" for each in service.requests)
    assert len(service.requests) > 3
    assert not any(SECRET in f"{each.path}{each.query}{each.body!r}" for each in service.requests)
    assert caplog.records
    assert SECRET not in "".join([caplog.text, *texts, str(error.value), repr(error.value)])


def test_no_text_of_a_record_has_it() -> None:
    records = [
        Login(SECRET, 0.0, SECRET),
        DeviceCode(SECRET, "AB-CD", "https://x", "", 1, 1),
        GivenToken(SECRET),
    ]
    assert SECRET not in "".join(map(repr, records))


def test_one_with_a_line_feed_is_refused_without_it() -> None:
    with pytest.raises(NotLoggedIn, match="was it copied as a whole") as error:
        Client("https://mc.example.org", f"{SECRET}\nx")
    assert SECRET not in str(error.value)


def test_no_redirect_is_followed(service: Service, clock: Clock) -> None:
    with running() as other, Client(service.url, SECRET, timing=clock.timing) as client:
        service.fault("GET", (307, None), Location=f"{other.url}/v2/clusters")
        with pytest.raises(BadAnswer, match=r"sends to .*: if that is right, give that address"):
            client.clusters()
        assert other.requests == []


def test_no_other_server_gets_it(service: Service) -> None:
    with running() as other, ServerSession(service.url, lambda: SECRET) as session:
        with pytest.raises(WrongServer, match="is not sent to another server"):
            session.get(f"{other.url}/")
        assert other.requests == []


def test_netrc_and_proxies_are_passed_over_on_loopback(
    service: Service, jobs: FakeJobs, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login alice password other\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with running() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        with Client(service.url, SECRET, timing=clock.timing) as client:
            assert list(client.jobs("mc")) == []
        assert proxy.requests == []
    assert service.requests[0].headers["authorization"] == f"Bearer {SECRET}"


def test_a_ca_file_counts_above_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/env.pem")
    with ServerSession("https://mc.example.org", str, "/own.pem") as own:
        assert (
            own.merge_environment_settings("https://mc.example.org", {}, None, None, None)["verify"]
            == "/own.pem"
        )
    with ServerSession("https://mc.example.org", str) as usual:
        found = usual.merge_environment_settings("https://mc.example.org", {}, None, None, None)
    assert found["verify"] == "/env.pem"
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    with ServerSession("https://mc.example.org", str) as usual:
        assert (
            usual.merge_environment_settings("https://mc.example.org", {}, None, None, None)["verify"] is True
        )


ENVIRONMENT = {"MINICLUSTER_TOKEN": SECRET, "MINICLUSTER_SERVER": "https://mc.example.org/"}


@pytest.mark.parametrize(
    ("server", "environment", "token"),
    [
        ("https://mc.example.org", ENVIRONMENT, SECRET),
        ("https://other.example.org", ENVIRONMENT, ""),
        ("https://other.example.org", {"MINICLUSTER_TOKEN": SECRET}, SECRET),
        ("https://mc.example.org", {}, ""),
    ],
)
def test_the_variable_is_for_its_server(server: str, environment: dict[str, str], token: str) -> None:
    assert token_in(server, environment) == token


def test_a_client_finds_its_server(service: Service, jobs: FakeJobs, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongServer, match="which server"):
        Client()
    monkeypatch.setenv("MINICLUSTER_SERVER", service.url)
    monkeypatch.setenv("MINICLUSTER_TOKEN", SECRET)
    with Client() as client:
        client.submit("mc", ["true"])
    assert service.lines() == [f"POST {JOBS}"]


def test_errors_are_one_tree() -> None:
    assert all(issubclass(each, ClientError) for each in (BadAnswer, ServerAway, NotLoggedIn, WrongServer))
    assert pickle.loads(pickle.dumps(WrongServer("x"))).args == ("x",)
