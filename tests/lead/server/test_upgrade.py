"""`POST /v1/instance`: who gets an upgraded connection, and what goes over it."""

from __future__ import annotations

import errno
import json
import os
import socket
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.lead_server import connections, files, instance_route
from minicluster.lead_server.purposes import INSTANCE
from minicluster.lead_server.routes import Audience
from minicluster.lead_server.server import Server
from tests.lead.client import Client, until
from tests.lead.keys import Authority
from tests.lead.lines_client import UPGRADE, LinesClient, head
from tests.lead.played_broker import PlayedBroker
from tests.lead.server.served import talk
from tests.lead.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JOBS, METRICS, BURST = "j" * 64, "m" * 64, "b" * 64


class Lead:
    """A lead server with a broker that is played, and its files."""

    def __init__(self, folder: Path) -> None:
        authority = Authority()
        self.tokens = folder / "tokens"
        self.tokens.mkdir()
        (self.tokens / "jobs.token").write_text(JOBS)
        (self.tokens / "metrics.token").write_text(METRICS)
        (self.tokens / "burst.token").write_text(BURST)
        self.log: list[str] = []
        whole = authority.write(folder / "keys")
        credentials = files.ServerCredentials(str(folder / "keys"), self.log.append, tokens=str(self.tokens))
        self.broker = PlayedBroker()
        routes = instance_route.routes(lambda: self.broker.connect(), credentials)  # noqa: PLW0108 - a test changes it
        routes = {**routes, "/echo": {"GET": lambda query, _body: dict(query)}}
        self.server = Server(0, credentials, routes, self.log.append, {INSTANCE: Audience.INSTANCE})
        self.client = Client(self.server.port, authority.certificate, whole)


@pytest.fixture
def lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lead]:
    monkeypatch.setattr(files, "POLL_INTERVAL", 0.0)
    monkeypatch.setattr(instance_route, "_TICK", 0.05)
    made = Lead(tmp_path)
    with serving(made.server):
        yield made


def refused(lead: Lead, token: str, fields: dict[str, str]) -> tuple[int, str]:
    """The status code of an answer, and its words."""
    answer, _, body = talk(lead.client, head(token, fields)).partition(b"\r\n\r\n")
    return int(answer.split()[1]), json.loads(body)["error"] if body else ""


WRONG = (426, "Connection: Upgrade and Upgrade: minicluster-lines are right here")
REFUSALS = [
    pytest.param("", UPGRADE, (401, ""), id="no token"),
    pytest.param("x" * 64, UPGRADE, (401, ""), id="another token"),
    pytest.param(METRICS, UPGRADE, (403, "needed is a token for jobs or burst"), id="the token for metrics"),
    pytest.param(JOBS, {}, WRONG, id="no upgrade"),
    pytest.param(JOBS, {**UPGRADE, "Upgrade": "websocket"}, WRONG, id="another protocol"),
    pytest.param(JOBS, {**UPGRADE, "Connection": "close"}, WRONG, id="another connection"),
]


@pytest.mark.parametrize(("token", "fields", "answer"), REFUSALS)
def test_who_is_refused(lead: Lead, token: str, fields: dict[str, str], answer: tuple[int, str]) -> None:
    assert refused(lead, token, fields) == answer
    assert lead.broker.links == []


def test_the_operators_token_is_not_good_for_it(lead: Lead) -> None:
    assert refused(lead, lead.client.token, UPGRADE) == (403, "needed is a token for jobs or burst")


def test_the_token_for_jobs_is_not_good_for_the_operators_paths(lead: Lead) -> None:
    answer = lead.client.ask("GET", "/echo", headers={"Authorization": f"Bearer {JOBS}"})
    assert answer == (403, {"error": "what was shown is good for jobs alone"})


def test_each_token_is_good_for_what_its_purpose_calls(lead: Lead) -> None:
    """That of its own connection, whoever else is connected."""
    with LinesClient(lead.client, JOBS) as jobs, LinesClient(lead.client, BURST) as burst:
        assert [jobs.line(), burst.line()] == [{"engine": "embedded"}] * 2
        assert jobs.ask(1, "overlay.health") == {"id": 1, "payload": {"topic": "overlay.health"}}
        refusal = "a token for burst is not good for overlay.health"
        assert burst.ask(1, "overlay.health") == {"id": 1, "errnum": errno.EPERM, "errstr": refusal}
        answer = burst.ask(2, "resource.status")
        assert answer == {"id": 2, "payload": {"topic": "resource.status"}}


def test_another_purposes_new_token_ends_no_connection(lead: Lead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance_route, "CHANGED_SECONDS", 0.0)
    with LinesClient(lead.client, JOBS) as jobs, LinesClient(lead.client, BURST) as burst:
        assert [jobs.line(), burst.line()] == [{"engine": "embedded"}] * 2
        (lead.tokens / "burst.token").write_text("n" * 64)
        assert burst.line() == {"gone": "the token for burst was replaced; connect with the new one"}
        assert jobs.ask(1, "overlay.health") == {"id": 1, "payload": {"topic": "overlay.health"}}


def test_another_method_is_named(lead: Lead) -> None:
    answer = lead.client.ask("GET", INSTANCE, headers={"Authorization": f"Bearer {JOBS}"})
    assert answer == (405, {"error": "only POST is right here"})


def test_requests_are_answered_by_their_numbers(lead: Lead) -> None:
    with LinesClient(lead.client, JOBS) as client:
        assert client.answer.startswith("HTTP/1.1 101 ")
        assert "Upgrade: minicluster-lines" in client.answer
        assert client.line() == {"engine": "embedded"}
        answer = client.ask(7, "job-list.list-id", id=1)
        assert answer == {"id": 7, "payload": {"topic": "job-list.list-id", "id": 1}}
        answer = client.ask(8, "job-list.list-id", fails=True)
        assert answer == {"id": 8, "errnum": errno.EINVAL, "errstr": "no"}


def test_what_comes_with_the_request_is_not_lost(lead: Lead) -> None:
    early = b'{"id": 1, "topic": "overlay.health"}\n'
    with LinesClient(lead.client, JOBS, early) as client:
        found = [client.line(), client.line()]
    assert {"id": 1, "payload": {"topic": "overlay.health"}} in found


def test_of_the_leads_environment_jobs_get_the_base_alone(
    lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "canary")
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        empty = {"attributes": {"system": {}}}
        answer = client.ask(1, "helper.submit", jobspec=empty, urgency=16, flags=0)
        own = {"attributes": {"system": {"environment": {"A": "1"}, "cwd": "/x"}}}
        second = client.ask(2, "helper.submit", jobspec=own, urgency=16, flags=0)
    assert answer is not None
    system = answer["payload"]["jobspec"]["attributes"]["system"]
    assert system["environment"]["PATH"] == os.environ["PATH"]
    assert set(system["environment"]) <= set(instance_route.BASE)
    assert second is not None
    assert second["payload"]["jobspec"] == own


NO_REQUESTS = [
    pytest.param(b"nonsense\n", "a line is no JSON object with an id", id="no JSON"),
    pytest.param(b"[]\n", "a line is no JSON object with an id", id="no object"),
    pytest.param(b'{"topic": "x"}\n', "a line is no JSON object with an id", id="no id"),
    pytest.param(
        b'{"id": 1, "topic": 5}\n',
        "a request has a topic, which is a text, and a payload, which is an object",
        id="no topic",
    ),
]


@pytest.mark.parametrize(("data", "words"), NO_REQUESTS)
def test_what_is_no_request_ends_the_connection(lead: Lead, data: bytes, words: str) -> None:
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        client.socket.sendall(data)
        assert client.line() == {"gone": words}
        assert client.line() is None


@pytest.mark.parametrize("urgency", [None, "high"])
def test_a_malformed_request_is_refused_alone(lead: Lead, urgency: Any) -> None:
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        answer = client.ask(1, "helper.submit", jobspec={"attributes": {}}, urgency=urgency, flags=0)
        assert answer is not None
        assert (answer["errnum"], answer["errstr"][:24]) == (errno.EPROTO, "the request is malformed")
        assert client.ask(2, "overlay.health") == {"id": 2, "payload": {"topic": "overlay.health"}}


def test_a_client_learns_that_the_broker_is_gone(lead: Lead) -> None:
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        lead.broker.gone()
        assert client.line() == {"gone": "the broker ended the connection"}
        assert client.line() is None


def test_one_too_many_is_refused_until_another_one_ends(lead: Lead) -> None:
    with ExitStack() as stack:
        there = [stack.enter_context(LinesClient(lead.client, JOBS)) for _ in range(connections.MAX_UPGRADED)]
        assert [each.line() for each in there] == [{"engine": "embedded"}] * connections.MAX_UPGRADED
        limit = "8 connections of this kind are open, which is the limit"
        assert refused(lead, JOBS, UPGRADE) == (503, limit)
        assert lead.client.ask("GET", "/echo")[0] == 200, "they take none of the others' places"
        there[0].close()

        def enter() -> bool:
            with LinesClient(lead.client, JOBS) as another:
                return another.answer.startswith("HTTP/1.1 101 ")

        assert until(enter, "a free place")


def test_a_client_who_is_silent_receives_a_line_now_and_then(
    lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance_route, "KEEPALIVE", 0.1)
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        assert client._file.readline() == b"{}\n"


def test_the_system_watches_for_a_host_that_is_gone() -> None:
    with closing(socket.socket()) as sock:
        instance_route.watch_for_death(sock)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
        idle = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        more = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) * sock.getsockopt(
            socket.IPPROTO_TCP, socket.TCP_KEEPCNT
        )
        assert idle + more == 30


def test_a_new_token_is_good_at_once_and_the_old_one_for_a_while(
    lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        (lead.tokens / "jobs.token").write_text("n" * 64)
        with LinesClient(lead.client, "n" * 64) as new:
            assert new.line() == {"engine": "embedded"}
            assert refused(lead, JOBS, UPGRADE)[0] == 401
            assert client.ask(1, "overlay.health") == {"id": 1, "payload": {"topic": "overlay.health"}}
            monkeypatch.setattr(instance_route, "CHANGED_SECONDS", 0.0)
            assert client.line() == {"gone": "the token for jobs was replaced; connect with the new one"}
            assert new.ask(1, "overlay.health") == {"id": 1, "payload": {"topic": "overlay.health"}}


def test_a_secret_that_comes_later_is_taken(lead: Lead) -> None:
    (lead.tokens / "jobs.token").unlink()
    assert refused(lead, JOBS, UPGRADE)[0] == 401
    (lead.tokens / "jobs.token").write_text(JOBS)
    with LinesClient(lead.client, JOBS) as client:
        assert client.line() == {"engine": "embedded"}
