"""The client against a socket that plays the broker: one connection, many requests, every way to end."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.client import BrokerClient
from minicluster.embedded.errors import BrokerUnreachable, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Play = Callable[["Broker"], None]


class Broker:
    """One accepted connection: reads requests, writes what the test says."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._file = connection.makefile("rb")

    def read(self) -> dict[str, Any]:
        length = int.from_bytes(self._file.read(4), "big")
        return dict(json.loads(self._file.read(length)))

    def send(self, *messages: dict[str, Any]) -> None:
        self.connection.sendall(b"".join(frame(message) for message in messages))


def frame(message: dict[str, Any]) -> bytes:
    body = json.dumps(message).encode()
    return len(body).to_bytes(4, "big") + body


@pytest.fixture
def play(short_dir: Path) -> Iterator[Callable[[Play], BrokerClient]]:
    """Connect a client to a broker that follows a script."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(short_dir / "s"))
    listener.listen()
    threads, clients = [], []

    def start(script: Play) -> BrokerClient:
        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                script(Broker(connection))

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        clients.append(BrokerClient(f"local://{short_dir}/s"))
        return clients[-1]

    yield start
    for client in clients:
        client.close()
    for thread in threads:
        thread.join(5)
    listener.close()


def test_rpc_returns_the_payload_of_its_answer(play: Callable[[Play], BrokerClient]) -> None:
    def script(broker: Broker) -> None:
        request = broker.read()
        broker.send({"id": request["id"], "payload": {"topic": request["topic"], "got": request["payload"]}})

    assert play(script).rpc("attr.get", {"name": "rank"}) == {"topic": "attr.get", "got": {"name": "rank"}}


def test_rpc_raises_what_the_broker_refused(play: Callable[[Play], BrokerClient]) -> None:
    client = play(
        lambda broker: broker.send({"id": broker.read()["id"], "errnum": 22, "errstr": "no such queue"})
    )
    with pytest.raises(RpcError, match="no such queue") as raised:
        client.rpc("job-manager.queue-status")
    assert raised.value.errnum == errno.EINVAL


def test_rpc_gives_up_after_its_timeout(play: Callable[[Play], BrokerClient]) -> None:
    def script(broker: Broker) -> None:
        number = broker.read()["id"]
        assert broker.read() == {"id": number, "cancel": True}

    with pytest.raises(RpcError) as raised:
        play(script).rpc("job-manager.drain", timeout=0.05)
    assert raised.value.errnum == errno.ETIMEDOUT


def test_a_program_may_have_a_thousand_files_open(play: Callable[[Play], BrokerClient]) -> None:
    def script(broker: Broker) -> None:
        number = broker.read()["id"]
        assert broker.read() == {"id": number, "cancel": True}

    with contextlib.ExitStack() as files:
        while files.enter_context(Path(os.devnull).open("rb")).fileno() < 1024:
            pass
        client = play(script)
        with pytest.raises(RpcError) as raised:
            client.rpc("job-manager.drain", timeout=0.05)
        assert (client.fileno() > 1024, raised.value.errnum) == (True, errno.ETIMEDOUT)


def test_a_broker_that_hangs_up_is_named(play: Callable[[Play], BrokerClient]) -> None:
    with pytest.raises(RpcError, match="the broker closed the connection"):
        play(lambda broker: broker.read() and None).rpc("attr.get")


def test_a_stream_ends_with_enodata(play: Callable[[Play], BrokerClient]) -> None:
    def script(broker: Broker) -> None:
        number = broker.read()["id"]
        items = ({"id": number, "payload": {"n": n}} for n in range(3))
        broker.send(*items, {"id": number, "errnum": errno.ENODATA, "errstr": ""})

    assert [item["n"] for item in play(script).stream("journal")] == [0, 1, 2]


def test_a_closed_stream_is_cancelled(play: Callable[[Play], BrokerClient]) -> None:
    seen: list[dict[str, Any]] = []

    def script(broker: Broker) -> None:
        number = broker.read()["id"]
        broker.send({"id": number, "payload": {"n": 0}})
        seen.append(broker.read())
        broker.send({"id": broker.read()["id"], "payload": {}})

    client = play(script)
    stream = client.stream("journal")
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    client.rpc("attr.get")
    assert seen == [{"id": 1, "cancel": True}]


def test_streams_and_answers_use_one_connection(play: Callable[[Play], BrokerClient]) -> None:
    """What arrives for others while an answer is awaited goes to their takers, in order."""

    def script(broker: Broker) -> None:
        first, second, third = (broker.read()["id"] for _ in range(3))
        broker.send(
            {"id": second, "payload": {"from": "second"}},
            {"id": first, "payload": {"from": "first"}},
            {"id": third, "payload": {"from": "third"}},
            {"id": first, "errnum": errno.ENODATA, "errstr": ""},
        )

    client = play(script)
    taken: list[Any] = []
    for topic in ("a", "b"):
        client.call(topic, None, lambda given, refusal: taken.append(given or refusal), streaming=True)
    assert client.rpc("c") == {"from": "third"}
    assert taken[:2] == [{"from": "second"}, {"from": "first"}]
    assert client.outstanding == 1


def test_a_thousand_requests_are_pipelined(play: Callable[[Play], BrokerClient]) -> None:
    def script(broker: Broker) -> None:
        numbers = [broker.read()["id"] for _ in range(1000)]
        broker.send(*({"id": number, "payload": {"n": number}} for number in reversed(numbers)))

    client = play(script)
    taken: list[int] = []
    for _ in range(1000):
        client.call("job-ingest.submit", {}, lambda given, _refusal: taken.append(given["n"] if given else 0))
    while client.outstanding:
        client.dispatch()
    assert taken == list(range(1000, 0, -1))


def test_a_frame_may_arrive_in_any_parts(play: Callable[[Play], BrokerClient]) -> None:
    def script(broker: Broker) -> None:
        data = frame({"id": broker.read()["id"], "payload": {"text": "ƒ" * 200_000}})
        for start in range(0, len(data), 77_777):
            broker.connection.sendall(data[start : start + 77_777])

    assert play(script).rpc("big") == {"text": "ƒ" * 200_000}


def test_bytes_that_are_no_text_survive_both_ways(play: Callable[[Play], BrokerClient]) -> None:
    def script(broker: Broker) -> None:
        request = broker.read()
        broker.send({"id": request["id"], "payload": request["payload"]})

    odd = b"\xff\xfe a\n".decode("utf-8", "surrogateescape")
    assert (
        play(script).rpc("echo", {"data": odd})["data"].encode("utf-8", "surrogateescape") == b"\xff\xfe a\n"
    )


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        pytest.param("local:///nowhere/s", "broker socket /nowhere/s was not found", id="absent"),
        pytest.param("ssh://host/x", "a URI of the form local://PATH is right", id="scheme"),
        pytest.param("local:///etc/passwd", "broker socket /etc/passwd cannot be used", id="no socket"),
    ],
)
def test_an_unreachable_broker_is_named(uri: str, message: str) -> None:
    with pytest.raises(BrokerUnreachable, match=message):
        BrokerClient(uri)
