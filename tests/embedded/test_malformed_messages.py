"""Messages that are none, of a peer with the certificate: they are dropped, and the next ones are handled."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zmq

from broker_config import curve
from minicluster.embedded import configuration
from minicluster.embedded.log import Log
from minicluster.embedded.overlay.message_guard import MAX_PEERS, OTHERS, PeerCounts
from minicluster.embedded.overlay.overlay import (
    MAX_MESSAGE_BYTES,
    RECEIVE_QUEUE,
    VERSION,
    FollowerOverlay,
    LeadOverlay,
    OverlayTimeouts,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

PAIR = curve.generate()
LARGE = b'{"type":"nonsense","x":"' + b"x" * 4_000 + b'"}'
NO_HEARTBEATS = OverlayTimeouts(30, 0)
FRAMES = {
    "no JSON": (b"x", "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
    "no UTF-8": (b"\xff", "UnicodeDecodeError: "),
    "too deep": (b"[" * 100_000, "RecursionError: "),
    "no object": (b"[]", "ValueError: no overlay message"),
    "no type": (b"{}", "ValueError: no overlay message"),
    "unknown type": (b'{"type":"nonsense"}', "ValueError: its type 'nonsense' is unknown"),
    "no field": (b'{"type":"job"}', "KeyError: 'id'"),
    "a field of another kind": (b'{"type":"job","id":{}}', "TypeError: "),
    "lines for the log": (b'{"type":"a\\u001b[1m\\nb"}', "ValueError: its type 'a\\x1b[1m\\nb' is unknown"),
}


class Lead:
    """A lead's overlay with a peer, which has joined as rank 1, and a handler for messages of type `job`."""

    def __init__(self, overlay: LeadOverlay, peer: zmq.Socket[bytes]) -> None:
        self.peer = peer
        self.jobs: asyncio.Queue[int] = asyncio.Queue()
        self._jobs = {1: 1}
        self.overlay = overlay
        overlay.on("job", lambda _rank, message, _body: self.jobs.put_nowait(self._jobs[message["id"]]))

    async def join(self) -> None:
        """Send `hello`, and wait for `welcome`, also behind other answers."""
        self.peer.send_json({"type": "hello", "rank": 1, "host": "mc-1", "version": VERSION})
        async with asyncio.timeout(20):
            while not (self.peer.poll(0) and self.peer.recv_json()["type"] == "welcome"):
                await asyncio.sleep(0)

    async def whole(self) -> int:
        """Send a message that is one, and return what the handler made of it."""
        self.peer.send_json({"type": "job", "id": 1})
        return await asyncio.wait_for(self.jobs.get(), 20)


@contextlib.asynccontextmanager
async def lead(directory: Path) -> AsyncIterator[Lead]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        endpoint = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    path = directory / "curve.cert"
    path.write_text(curve.render("mc", PAIR))
    path.chmod(0o600)
    certificate = configuration.read_certificate(str(path))
    overlay = LeadOverlay(
        configuration.Bootstrap(0, ("mc-0", "mc-1"), endpoint, None, certificate), Log("0"), NO_HEARTBEATS
    )
    with zmq.Context() as context, context.socket(zmq.DEALER) as peer:
        peer.linger = 0
        peer.curve_publickey, peer.curve_secretkey = PAIR.public.encode(), PAIR.secret.encode()
        peer.curve_serverkey = PAIR.public.encode()
        overlay.open()
        try:
            peer.connect(endpoint)
            yield Lead(overlay, peer)
        finally:
            overlay.close()


def run(directory: Path, story: Callable[[Lead], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        async with lead(directory) as here:
            return await story(here)

    return asyncio.run(whole())


@pytest.mark.parametrize(("frame", "reason"), FRAMES.values(), ids=FRAMES)
def test_the_lead_drops_it_and_handles_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], frame: bytes, reason: str
) -> None:
    async def story(here: Lead) -> int:
        await here.join()
        here.peer.send(frame)
        return await here.whole()

    assert run(tmp_path, story) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert f"overlay.err[0]: dropped a message of rank 1 (1x): {reason}" in line


def test_of_a_flood_nothing_is_logged_but_its_growth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And it ends no callback: what comes after it is handled."""

    async def story(here: Lead) -> int:
        await here.join()
        for _ in range(3_000):
            here.peer.send(b'{"type":"job"}')
        return await here.whole()

    assert run(tmp_path, story) == 1
    lines = capsys.readouterr().err.splitlines()
    counts = [int(line.partition("(")[2].partition("x)")[0]) for line in lines]
    assert counts == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]


def test_a_flood_fills_no_memory(tmp_path: Path) -> None:
    """What the lead has not read yet waits with who sends it."""

    def send(here: Lead) -> int:
        most = 0
        for number in range(50_000):
            here.peer.send(LARGE)
            most = most if number % 500 else max(most, resident())
        return most

    async def story(here: Lead) -> int:
        await here.join()
        before = resident()
        most = await asyncio.to_thread(send, here)
        await here.whole()
        return most - before

    assert run(tmp_path, story) < 40_000


def resident() -> int:
    """Return the memory that this process takes now, in kB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def test_a_peer_that_has_not_joined_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def story(here: Lead) -> None:
        here.peer.send(b"nonsense")
        await here.join()

    run(tmp_path, story)
    assert "dropped a message of a peer that has not joined (1x): JSONDecodeError" in capsys.readouterr().err


def test_names_that_peers_give_themselves_fill_neither_log_nor_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(here: Lead) -> LeadOverlay:
        for number in range(MAX_PEERS + 200):
            hello = {"type": "hello", "rank": [9] * 9_999, "host": f"\n{number}" + "h" * 9_999}
            here.peer.send_json({**hello, "version": VERSION})
        await here.join()
        return here.overlay

    refused = run(tmp_path, story).refused
    assert (len(refused), refused[OTHERS], refused.total()) == (MAX_PEERS + 1, 200, MAX_PEERS + 200)
    assert max(map(len, refused)) < 300
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == MAX_PEERS + 8  # of the others the 1st, 2nd, 4th … 128th
    assert max(map(len, lines)) < 1_000


def test_a_follower_that_sends_faster_than_the_lead_reads_waits(tmp_path: Path) -> None:
    """The lead's memory holds no more than that, and no message without a bound."""

    async def story(here: Lead) -> tuple[int, int]:
        socket = here.overlay._wire.socket
        return int(socket.rcvhwm), int(socket.maxmsgsize)

    assert run(tmp_path, story) == (RECEIVE_QUEUE, MAX_MESSAGE_BYTES)


@pytest.mark.parametrize(("frame", "reason"), FRAMES.values(), ids=FRAMES)
def test_a_follower_drops_it(capsys: pytest.CaptureFixture[str], frame: bytes, reason: str) -> None:
    """A type that it does not know is no mistake there."""

    async def story() -> None:
        bootstrap = configuration.Bootstrap(1, ("mc-0", "mc-1"), None, "tcp://127.0.0.1:1", None)
        follower = FollowerOverlay(bootstrap, Log("1"), NO_HEARTBEATS)
        follower.on("job", lambda _rank, message, _body: {1: 1}[message["id"]])
        follower._guard([frame])

    asyncio.run(story())
    lines = [line.partition("overlay.err[1]: ")[2] for line in capsys.readouterr().err.splitlines()]
    if "is unknown" in reason:
        assert lines == []
    else:
        [line] = lines
        assert line.startswith(f"dropped a message of the lead (1x): {reason}")


def test_counts_of_peers_are_bounded() -> None:
    """What is counted as one for all others is logged as rarely as any."""
    counts = PeerCounts()
    known = [counts.note(str(number)) for number in range(MAX_PEERS)]
    others = [counts.note(f"another {number}") for number in range(9)]
    assert (set(known), others, len(counts)) == ({1}, [1, 2, 0, 4, 0, 0, 0, 8, 0], MAX_PEERS + 1)
