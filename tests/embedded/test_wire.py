"""The ZeroMQ socket on the loop, and who watches its connections."""

from __future__ import annotations

import asyncio
import socket
import struct
import subprocess
import sys
from pathlib import Path

import zmq

from minicluster.embedded.overlay import wire

ROOT = Path(__file__).parents[2]
# What hangs there holds Python's lock as well: it needs a process of its own.
PEER_GOES_AMID_CLOSE = """\
import asyncio, sys, time, zmq
sys.path.insert(0, sys.argv[1])
from minicluster.embedded.overlay import wire

class Slow(wire.Wire):
    def close(self, linger=0):
        super().close(linger)
        time.sleep(0.05)  # as on a busy machine
        lead.close(0)
        time.sleep(0.3)

async def main():
    global lead
    elsewhere = zmq.Context()
    lead = elsewhere.socket(zmq.ROUTER)
    port = lead.bind_to_random_port("tcp://127.0.0.1")
    follower = zmq.Context.instance().socket(zmq.DEALER)
    met = asyncio.Event()
    wire.Wire = Slow
    monitor = wire.Monitor(follower, gone=lambda: None, failed=print, met=met.set)
    follower.connect(f"tcp://127.0.0.1:{port}")
    await met.wait()
    monitor.close()
    follower.close(0)
    elsewhere.term()
    print("closed")

asyncio.run(main())
"""


def test_a_peer_that_goes_while_the_monitor_closes() -> None:
    """Nobody waits for anybody."""
    argv = [sys.executable, "-c", PEER_GOES_AMID_CLOSE, ROOT]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed\n", "")


def test_a_peer_that_is_gone_already_is_not_taken_for_the_one_before() -> None:
    """Its handshake has failed, and its connection is closed: whose it was is unknown."""
    failed: list[str | None] = []

    async def watch() -> None:
        lead = zmq.Context.instance().socket(zmq.ROUTER)
        monitor = wire.Monitor(lead, gone=lambda: None, failed=failed.append)
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
            connection = server.accept()[0]
            for descriptor in (connection.fileno(), -1):
                monitor._event([struct.pack("=Hi", zmq.Event.ACCEPTED, descriptor), b""])
                monitor._event([struct.pack("=Hi", zmq.Event.HANDSHAKE_FAILED_AUTH, 0), b""])
            connection.close()
        monitor.close()
        lead.close(0)

    asyncio.run(watch())
    assert failed == ["127.0.0.1", None]


def test_a_message_whose_handling_fails_holds_up_none() -> None:
    """ZeroMQ reports what waits once."""
    received: list[bytes] = []
    failures: list[Exception] = []

    def receive(frames: wire.Frames) -> None:
        received.append(frames[0])
        if frames == [b"first"]:
            raise KeyError(frames[0])

    async def send_both() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _loop, context: failures.append(context["exception"])
        )
        with (
            zmq.Context() as context,
            context.socket(zmq.PAIR) as sender,
            context.socket(zmq.PAIR) as receiver,
        ):
            sender.bind("inproc://messages")
            receiver.connect("inproc://messages")
            sender.send(b"first")
            sender.send(b"second")
            link = wire.Wire(receiver, receive)
            async with asyncio.timeout(20):
                while len(received) < 2:
                    await asyncio.sleep(0.005)
            link.close()

    asyncio.run(send_both())
    assert received == [b"first", b"second"]
    assert [type(each) for each in failures] == [KeyError]
