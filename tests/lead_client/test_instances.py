"""A MiniCluster's instance through its lead's API, by a lead server with a broker that is played."""

from __future__ import annotations

import errno
import re
import socket
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from minicluster.broker_link.errors import InstanceGone, RequestRefused
from minicluster.lead_client import lead_channel
from minicluster.lead_client.errors import (
    LeadBusyError,
    LeadError,
    LeadPortClosedError,
    LeadTokenError,
    LeadTooOldError,
)
from minicluster.lead_client.instances import open_instance
from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import JOBS, PurposeKeys
from minicluster.lead_server import files, instance_route
from minicluster.lead_server.connections import MAX_UPGRADED
from tests.lead.client import until
from tests.lead.keys import Authority
from tests.lead.server.test_upgrade import Lead
from tests.lead.serving import serving
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from minicluster.instance.port import Instance

UID, HOST = "5e0b", "127.0.0.1"
JOURNAL = "job-manager.events-journal"


class Reached(Lead):
    """A lead server, and the keys for it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.keys = PurposeKeys(JOBS, self.client.authority, b"k" * 32)
        (self.tokens / "jobs.token").write_text(self.keys.token(UID))

    def open(self, *keys: PurposeKeys, uid: str = UID) -> Instance:
        return open_instance(uid, HOST, keys or (self.keys,), called="hpc/mc", port=self.server.port)


@pytest.fixture
def lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reached]:
    monkeypatch.setattr(files, "POLL_INTERVAL", 0.0)
    made = Reached(tmp_path)
    with serving(made.server):
        yield made


def test_the_instance_is_there(lead: Reached) -> None:
    with lead.open() as instance:
        assert (instance.engine, instance.uri) == ("embedded", "MiniCluster hpc/mc")
        assert not instance.links.inherits_environment
        assert instance.links.rpc("overlay.health", {"a": 1}) == {"topic": "overlay.health", "a": 1}


def test_threads_use_one_connection(lead: Reached) -> None:
    found: list[int] = []
    with lead.open() as instance:

        def ask(number: int) -> None:
            for count in range(50):
                answer = instance.links.rpc("overlay.health", {"number": number, "text": "x" * 5000})
                assert answer["number"] == number
                found.append(count)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(found) == 400
    assert len(lead.broker.links) == 1


def test_a_stream_comes_over_it(lead: Reached) -> None:
    with lead.open() as instance, instance.links.stream(JOURNAL, {}) as items:
        until(lambda: lead.broker.begun, "the stream")
        for count in range(1000):
            lead.broker.push({"count": count})
        assert [next(items)["count"] for _ in range(1000)] == list(range(1000))


def test_what_a_token_for_jobs_is_not_good_for_is_refused_in_words(lead: Reached) -> None:
    with lead.open() as instance, pytest.raises(RequestRefused) as caught:
        instance.life.dump("/tmp/dump")
    assert caught.value.errnum == errno.EPERM
    assert str(caught.value) == "helper.dump: a token for jobs is not good for helper.dump"


def test_former_keys_are_good_until_the_lead_has_the_new_ones(lead: Reached) -> None:
    new = PurposeKeys(JOBS, lead.client.authority, b"n" * 32)
    with lead.open(new, lead.keys) as instance:
        assert instance.engine == "embedded"
    with pytest.raises(LeadTokenError, match="does not accept the token for jobs: pods that release"):
        lead.open(new)


def test_a_minicluster_of_before_has_to_be_restarted(lead: Reached) -> None:
    (lead.tokens / "jobs.token").unlink()
    with pytest.raises(LeadTokenError) as caught:
        lead.open()
    assert str(caught.value) == (
        f"the lead API at 127.0.0.1:{lead.server.port} does not accept the token for jobs: pods that release"
        " 0.1.0 made have no such token until their MiniCluster is restarted once: `kubectl delete job"
        " NAME` makes them anew (docs/operator.md)"
    )


def test_without_keys_nothing_is_asked() -> None:
    with pytest.raises(LeadTokenError, match="there are no keys for the lead"):
        open_instance(UID, HOST, ())


def test_another_miniclusters_lead_is_not_believed(lead: Reached) -> None:
    with pytest.raises(LeadError, match="has another MiniCluster's certificate"):
        lead.open(uid="0000")


def test_another_operators_lead_is_not_believed(lead: Reached) -> None:
    with pytest.raises(LeadError, match="has another operator's certificate"):
        lead.open(LeadAuthority.make().purpose(JOBS))
    assert lead.broker.links == []


def test_one_connection_too_many(lead: Reached) -> None:
    with ExitStack() as stack:
        for _ in range(MAX_UPGRADED):
            stack.enter_context(lead.open())
        words = "admits no further connection: 8 connections of this kind are open, which is the limit"
        with pytest.raises(LeadBusyError, match=words):
            lead.open()


def test_the_broker_is_gone(lead: Reached) -> None:
    with lead.open() as instance:
        lead.broker.gone()
        with pytest.raises(InstanceGone, match="MiniCluster hpc/mc: the broker ended the connection"):
            until(lambda: instance.links.rpc("overlay.health", {}) and None, "the end")


def test_the_lead_is_gone(lead: Reached) -> None:
    with lead.open() as instance:
        lead.server.connections.hang_up_all()
        with pytest.raises(InstanceGone, match=r"the lead API at 127\.0\.0\.1:\d+ hangs up"):
            until(lambda: instance.links.rpc("overlay.health", {}) and None, "the end")


def test_a_lead_that_is_silent_counts_as_gone(lead: Reached, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lead_channel, "SILENT_SECONDS", 0.2)
    monkeypatch.setattr(instance_route, "KEEPALIVE", 1000.0)
    silent = pytest.raises(InstanceGone, match=r"has been silent for 0\.2 s")
    with lead.open() as instance, instance.links.stream(JOURNAL, {}) as items, silent:
        next(items)


def test_nobody_listens() -> None:
    keys = PurposeKeys(JOBS, Authority().certificate, b"k" * 32)
    with pytest.raises(LeadPortClosedError, match="does not answer: connection refused"):
        open_instance(UID, HOST, (keys,), port=free_port())


@contextmanager
def answering(lead: Reached, answer: bytes) -> Iterator[int]:
    """A server with the lead's certificate that answers with these bytes, and hangs up."""
    context = lead.server._credentials.context
    with socket.create_server((HOST, 0)) as listening:

        def serve() -> None:
            plain, _ = listening.accept()
            with context.wrap_socket(plain, server_side=True) as sock:
                sock.recv(1 << 16)
                sock.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def _http(code: int, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d Oh\r\nContent-Length: %d\r\n\r\n%s" % (code, len(body), body)


NO_HTTP = "answers with something that is no HTTP"
NO_LINES = "what answers there is no broker's helper: 'hello'"
NO_LEADS = [
    pytest.param(_http(404), LeadTooOldError, "of a release that serves no jobs", id="an old release"),
    pytest.param(_http(500, b'{"error": "oh"}'), LeadError, "answers 500: oh", id="an error"),
    pytest.param(_http(200), LeadError, "answers 200", id="no upgrade"),
    pytest.param(_http(500, b"null"), LeadError, "answers 500", id="no words"),
    pytest.param(b"220 smtp\r\n", LeadError, NO_HTTP, id="no HTTP"),
    pytest.param(b"", LeadError, NO_HTTP, id="nothing"),
    pytest.param(b"HTTP/1.1 101 Oh\r\n\r\nhello\n", InstanceGone, NO_LINES, id="no lines"),
]


@pytest.mark.parametrize(("answer", "kind", "words"), NO_LEADS)
def test_something_else_answers(lead: Reached, answer: bytes, kind: type[Exception], words: str) -> None:
    with answering(lead, answer) as port, pytest.raises(kind, match=re.escape(words)):
        open_instance(UID, HOST, (lead.keys,), port=port)
