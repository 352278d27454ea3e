"""Streams over upgraded connections: nobody keeps them out, and readers who are slow cost little."""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.broker_link import lines_server, outgoing_lines, served_stream
from minicluster.broker_link.outgoing_lines import OutgoingLines
from minicluster.broker_link.own_threads import OwnThread, OwnThreads
from minicluster.lead_server import instance_route
from tests.lead.client import DEADLINE, until
from tests.lead.lines_client import LinesClient
from tests.lead.played_broker import PlayedBroker
from tests.lead.server.test_upgrade import JOBS, Lead
from tests.lead.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JOURNAL, EVENTLOG = "job-manager.events-journal", "job-info.eventlog-watch"
STREAMS = 20


@pytest.fixture
def lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lead]:
    monkeypatch.setattr(instance_route, "_TICK", 0.05)
    made = Lead(tmp_path)
    with serving(made.server):
        yield made


def begin(client: LinesClient, number: int, topic: str, credit: int = 1000, **payload: Any) -> None:
    client.send({"id": number, "topic": topic, "payload": payload, "stream": True, "credit": credit})


def test_20_streams_go_on_while_200_others_come(lead: Lead) -> None:
    """Each of the others takes a place of the 64, and none is one of theirs."""
    with ExitStack() as stack:
        clients = [stack.enter_context(LinesClient(lead.client, JOBS)) for _ in range(2)]
        for client in clients:
            client.line()
            for number in range(STREAMS // 2):
                begin(client, number + 1, JOURNAL)
        until(lambda: len(lead.broker.begun) == STREAMS, "every stream has begun")
        for count in range(200):
            with contextlib.suppress(OSError):  # the server has ended it already
                other = stack.enter_context(
                    socket.create_connection(("127.0.0.1", lead.client.port), DEADLINE)
                )
                other.sendall(b"\x16\x03\x01")
            if count % 10 == 0:
                lead.broker.push({"count": count})
        for client in clients:
            found = [client.line() for _ in range(20 * STREAMS // 2)]
            for number in range(1, STREAMS // 2 + 1):
                mine = [each["payload"]["count"] for each in found if each and each["id"] == number]
                assert mine == list(range(0, 200, 10))
        assert lead.client.ask("GET", "/echo")[0] == 200
        assert clients[0].ask(99, "overlay.health") == {"id": 99, "payload": {"topic": "overlay.health"}}


def test_a_stream_has_no_more_items_than_its_reader_has_credit(lead: Lead) -> None:
    """The broker waits for it alone: other requests on this connection are answered."""
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        begin(client, 1, JOURNAL, credit=2)
        until(lambda: lead.broker.begun, "the stream")
        for count in range(50):
            lead.broker.push({"count": count})
        assert [client.line() for _ in range(2)] == [{"id": 1, "payload": {"count": each}} for each in (0, 1)]
        assert client.ask(2, "overlay.health") == {"id": 2, "payload": {"topic": "overlay.health"}}
        assert sum(each.handed_out for each in lead.broker.links) < 10
        client.send({"id": 1, "credit": 1})
        assert client.line() == {"id": 1, "payload": {"count": 2}}
        client.send({"id": 1, "cancel": True})
        assert client.line() == {"id": 1, "errnum": errno.ENODATA, "errstr": "No data available"}


@pytest.mark.parametrize(("engine", "more"), [("embedded", {}), ("flux", {}), ("flux", {"after": 499})])
def test_a_followed_log_is_whole_however_slow_its_reader(
    lead: Lead, monkeypatch: pytest.MonkeyPatch, engine: str, more: dict[str, int]
) -> None:
    """What waits for him is bounded: the watch is ended and begun again, and he gets each entry once."""
    monkeypatch.setattr(served_stream, "MAX_BYTES", 200)
    monkeypatch.setattr(served_stream, "ITEM_BYTES", 20)
    lead.broker = PlayedBroker(engine, entries=1000)
    first = more.get("after", -1) + 1
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        begin(client, 1, EVENTLOG, credit=1, id=1, **more)
        found = []
        while (line := client.line()) is not None and "payload" in line:
            found.append(line["payload"])
            client.send({"id": 1, "credit": 1})
    assert line == {"id": 1, "errnum": errno.ENODATA, "errstr": "No data available"}
    entries = [[int(line) for line in each["event"].split()] for each in found]
    assert [number for each in entries for number in each] == list(range(first, 1000))
    assert {len(each["event"]) <= 20 for each in found} == {True}
    assert 50 < len(found) < 500, "those that waited came together"
    assert lead.broker.begun.count(EVENTLOG) > 5
    if more:
        assert [each["entry"] for each in found] == [each[0] for each in entries]


def test_large_entries_that_wait_are_bounded_by_their_bytes(
    lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_stream, "MAX_BYTES", 20)
    lead.broker = PlayedBroker(entries=1000)
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        begin(client, 1, EVENTLOG, credit=1)
        client.line()
        until(lambda: not any(each.streams for each in lead.broker.links), "the watch has ended")
        assert lead.broker.links[0].handed_out < 20


def test_a_client_who_takes_nothing_gets_nothing_read_and_is_sent_away(
    lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outgoing_lines, "FULL_BYTES", 1 << 16)
    monkeypatch.setattr(instance_route, "STALL_SECONDS", 1.0)
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        begin(client, 1, JOURNAL, credit=100_000)
        until(lambda: lead.broker.begun, "the stream")
        for _ in range(2000):
            lead.broker.push({"much": "x" * 10_000})
        until(lambda: all(each.is_closed for each in lead.broker.links), "the connection has ended")
        assert sum(each.handed_out for each in lead.broker.links) < 2000
    lead.server.connections.wait(DEADLINE)
    assert lead.log == []


def test_a_stream_goes_on_where_its_client_was_behind_for_a_moment(
    lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for him grows too long, and short again, while what came before it is being sent."""
    monkeypatch.setattr(outgoing_lines, "FULL_BYTES", 1 << 16)
    take = OutgoingLines.take
    full: list[bool] = []

    def late(outbox: OutgoingLines, least: int) -> bytes:
        if outbox.size and not full:
            for count in range(1, 20):
                lead.broker.push({"count": count, "much": "x" * 10_000})
            full.append(until(lambda: outbox.is_full, "the outbox is full"))
        return take(outbox, least)

    with LinesClient(lead.client, JOBS) as client:
        client.line()
        begin(client, 1, JOURNAL)
        until(lambda: lead.broker.begun, "the stream")
        monkeypatch.setattr(OutgoingLines, "take", late)
        lead.broker.push({"count": 0})
        assert [(client.line() or {})["payload"]["count"] for _ in range(20)] == list(range(20))
        assert full == [True]


def test_streams_that_need_a_thread_are_bounded(lead: Lead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_server, "MAX_OWN_THREADS", 2)
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        for number in (1, 2, 3):
            begin(client, number, JOURNAL)
        limit = "2 streams of this kind are open, which is the limit"
        assert client.line() == {"id": 3, "errnum": errno.EAGAIN, "errstr": limit}


def test_a_thread_that_is_free_takes_the_next_stream(lead: Lead, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is free once its client has the end, a moment later."""
    give_back = OwnThreads.give_back
    free: list[OwnThread] = []

    def noted(threads: OwnThreads, thread: OwnThread) -> None:
        give_back(threads, thread)
        free.append(thread)

    monkeypatch.setattr(OwnThreads, "give_back", noted)
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        for number in range(1, 6):
            begin(client, number, JOURNAL)
            client.send({"id": number, "cancel": True})
            assert client.line() == {"id": number, "errnum": errno.ENODATA, "errstr": "No data available"}
            until(lambda number=number: len(free) == number, "the thread to be free")
        assert len(lead.broker.links) == 2


def test_requests_under_way_are_bounded(lead: Lead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_server, "MAX_REQUESTS", 1)
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        begin(client, 1, JOURNAL)
        limit = "1 requests are under way, which is the limit"
        assert client.ask(2, "overlay.health") == {"id": 2, "errnum": errno.EAGAIN, "errstr": limit}


def test_a_number_that_is_under_way_ends_the_connection(lead: Lead) -> None:
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        begin(client, 1, JOURNAL)
        begin(client, 1, JOURNAL)
        assert client.line() == {"gone": "request 1 is under way, and another one has its number"}


def test_a_line_without_an_end_ends_the_connection(lead: Lead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_server, "MAX_LINE_BYTES", 1 << 20)
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        with contextlib.suppress(OSError):  # it does not read on
            client.socket.sendall(b"x" * (1 << 21))
        assert client.line() == {"gone": "a line has more than 1 MiB"}


def test_a_client_who_leaves_leaves_nothing_behind(lead: Lead) -> None:
    before = threading.active_count()
    with LinesClient(lead.client, JOBS) as client:
        client.line()
        begin(client, 1, JOURNAL)
        until(lambda: lead.broker.begun, "the stream")
    until(lambda: all(each.is_closed for each in lead.broker.links), "every link is closed")
    until(lambda: threading.active_count() <= before, "its threads have ended")
