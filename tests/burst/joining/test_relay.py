"""The relay of a tunnel, over loopback: what passes, who is refused, and what ends with what."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from burst.joining import machine_boot, relay
from burst.joining.relay import IDLE, TAKEN, TunnelRelay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

LARGE = bytes(range(256)) * 8_000


@dataclass
class Peer:
    """One end of a connection to the relay."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def receive(self, count: int) -> bytes:
        return await asyncio.wait_for(self.reader.readexactly(count), 20)

    async def is_over(self) -> bool:
        """Wait until the relay has hung up; return whether nothing came before."""
        try:
            return await asyncio.wait_for(self.reader.read(), 20) == b""
        except ConnectionResetError:
            return True


@dataclass
class Ends:
    """A relay, and those who connect to it."""

    relay: TunnelRelay
    ports: tuple[int, int]
    peers: list[Peer] = field(default_factory=list)

    async def _connected(self, port: int) -> Peer:
        self.peers.append(Peer(*await asyncio.open_connection("127.0.0.1", port)))
        return self.peers[-1]

    async def follower(self) -> Peer:
        return await self._connected(self.ports[0])

    async def silent_reach(self) -> Peer:
        """Connect as the lead's side does, without a sign."""
        return await self._connected(self.ports[1])

    async def reach(self) -> Peer:
        """Connect as the lead's side does, until the relay has answered."""
        made = await self.silent_reach()
        made.send(IDLE)
        assert await made.receive(1) == IDLE
        return made

    async def pair(self) -> tuple[Peer, Peer]:
        """Connect both; the lead's side has acknowledged it."""
        reach, follower = await self.reach(), await self.follower()
        assert await reach.receive(1) == TAKEN
        reach.send(TAKEN)
        return reach, follower


@contextlib.asynccontextmanager
async def ends(most: int) -> AsyncIterator[Ends]:
    made = TunnelRelay(most)
    servers = [await asyncio.start_server(each, "127.0.0.1", 0) for each in (made.on_follower, made.on_reach)]
    try:
        followers, reaches = (each.sockets[0].getsockname()[1] for each in servers)
        found = Ends(made, (followers, reaches))
        yield found
    finally:
        for peer in found.peers:
            peer.writer.close()
        for each in servers:
            each.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def run(work: Callable[[Ends], Awaitable[Any]], most: int = 8) -> Any:
    async def opened() -> Any:
        async with ends(most) as found:
            return await work(found)

    return asyncio.run(opened())


def test_bytes_pass_both_ways_as_they_are() -> None:
    async def work(found: Ends) -> None:
        reach, follower = await found.pair()
        for source, target in ((follower, reach), (reach, follower)):
            source.send(LARGE)
            assert await target.receive(len(LARGE)) == LARGE

    run(work)


def test_signs_under_way_are_not_taken_for_the_leads_bytes() -> None:
    async def work(found: Ends) -> None:
        reach, follower = await found.reach(), await found.follower()
        reach.send(IDLE + IDLE + TAKEN + IDLE + TAKEN + b"lead")
        assert await follower.receive(6) == IDLE + TAKEN + b"lead"

    run(work)


def test_a_taken_connection_has_no_signs_any_more() -> None:
    """No answer to one that was under way comes amid the follower's bytes."""

    async def work(found: Ends) -> None:
        reach, follower = await found.reach(), await found.follower()
        assert await reach.receive(1) == TAKEN
        reach.send(IDLE + TAKEN + b"lead")
        assert await follower.receive(4) == b"lead"
        follower.send(b"follower")
        assert await reach.receive(8) == b"follower"

    run(work)


def test_a_follower_waits_for_the_leads_side() -> None:
    async def work(found: Ends) -> None:
        follower = await found.follower()
        follower.send(b"first")
        reach = await found.silent_reach()
        assert await reach.receive(6) == TAKEN + b"first"

    run(work)


def test_a_follower_that_waits_too_long_is_sent_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "WAIT_SECONDS", 0.01)

    async def work(found: Ends) -> None:
        assert await (await found.follower()).is_over()
        reach, _ = await found.pair()  # the one that was given up has taken none
        assert not reach.reader.at_eof()

    run(work)


def test_more_followers_than_there_may_be_are_refused() -> None:
    async def work(found: Ends) -> None:
        reach, first = await found.pair()
        await found.reach()
        assert await (await found.follower()).is_over()
        first.send(b"goes on")
        assert await reach.receive(7) == b"goes on"

    run(work, most=1)


def test_more_idle_connections_than_there_may_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "MAX_IDLE_CONNECTIONS", 1)

    async def work(found: Ends) -> None:
        await found.reach()
        assert await (await found.silent_reach()).is_over()

    run(work)


@pytest.mark.parametrize("ending", [0, 1], ids=["the lead's side", "the follower"])
def test_either_end_ends_the_other_and_nobody_else(ending: int) -> None:
    async def work(found: Ends) -> None:
        ended = await found.pair()
        reach, follower = await found.pair()
        ended[ending].writer.close()
        assert await ended[1 - ending].is_over()
        follower.send(b"goes on")
        assert await reach.receive(7) == b"goes on"

    run(work)


def test_an_idle_connection_that_ended_is_given_to_nobody() -> None:
    async def work(found: Ends) -> None:
        gone, other = await found.reach(), await found.reach()
        gone.writer.write_eof()
        assert await gone.is_over()
        follower = await found.follower()
        follower.send(b"x")
        assert await other.receive(2) == TAKEN + b"x"

    run(work)


def test_an_idle_connection_without_signs_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "SILENT_SECONDS", 0.01)

    async def work(found: Ends) -> None:
        assert await (await found.silent_reach()).is_over()

    run(work)


def test_what_is_no_sign_is_hung_up_on() -> None:
    async def work(found: Ends) -> None:
        reach = await found.reach()
        reach.send(b"GET / HTTP/1.1")
        assert await reach.is_over()

    run(work)


def test_one_whose_node_is_drained_is_no_job_that_is_complete() -> None:
    """Its Job makes another one only if it has not ended with 0."""
    words = [sys.executable, relay.__file__, "0", "0", "8"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("relay: followers are served")
        process.terminate()
        assert process.wait(30) == 143


@pytest.mark.parametrize("program_file", [relay.__file__, machine_boot.__file__])
def test_each_is_one_file_that_python_3_8_runs(program_file: str) -> None:
    text = Path(program_file).read_text()
    ast.parse(text, feature_version=(3, 8))
    program = "import sys, vermin; sys.exit(vermin.main())"
    words = ("--violations", "--quiet", "--no-tips", "--target=3.8-", program_file)
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (0, "", "")
    imported = {
        name.name.partition(".")[0] if isinstance(each, ast.Import) else str(each.module).partition(".")[0]
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.Import | ast.ImportFrom)
        for name in each.names
    }
    assert imported <= sys.stdlib_module_names
