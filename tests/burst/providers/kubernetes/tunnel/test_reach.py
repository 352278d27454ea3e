"""The lead's side of a tunnel: from a relay to a lead on this machine, by an API server's protocol."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from burst.providers.kubernetes.tunnel.reach import IDLE_CONNECTIONS, TunnelReach
from burst.providers.kubernetes.tunnel.records import ReachDirectory, ReachStatus
from tests.burst.providers.kubernetes.tunnel.two_clusters import REFUSAL, TwoClusters, serving, task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

DEADLINE = 30.0
MODULE = "burst.providers.kubernetes.tunnel.reach"


class Reached:
    """A tunnel, and whoever is at its ends."""

    def __init__(self, clusters: TwoClusters, directory: ReachDirectory) -> None:
        self.clusters = clusters
        self.directory = directory

    async def until(self, condition: Callable[[ReachStatus], object]) -> ReachStatus:
        """Wait until its status is so, and return it."""
        async with asyncio.timeout(DEADLINE):
            while (found := self.directory.status()) is None or not condition(found):
                await asyncio.sleep(0.01)
        return found

    async def asked(self, text: bytes) -> bytes:
        """Return what the lead answers a follower, which tries again when it is hung up on."""
        async with asyncio.timeout(DEADLINE):
            while not (answer := await self.answer(text)):
                await asyncio.sleep(0.01)
        return answer

    async def answer(self, text: bytes) -> bytes:
        """Return what the lead answers, empty where the follower is hung up on."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.clusters.followers)
        writer.write(text)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while len(answer) < len(text) and (data := await reader.read(1 << 16)):
                answer += data
        writer.close()
        return answer


def run(folder: Path, work: Callable[[Reached], Awaitable[Any]], *, before: str = "") -> None:
    async def opened() -> None:
        async with serving(folder) as (clusters, made):
            clusters.is_forbidden = before == "forbidden"
            clusters.pods = ("lead",) if before == "no relay" else clusters.pods
            directory = ReachDirectory(folder)
            life = asyncio.create_task(TunnelReach(made, directory.write).live())
            try:
                await work(Reached(clusters, directory))
            finally:
                life.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await life

    asyncio.run(opened())


def test_followers_are_led_to_the_lead(tmp_path: Path) -> None:
    async def work(found: Reached) -> None:
        status = await found.until(lambda each: each.idle == IDLE_CONNECTIONS)
        assert (status.is_ready, status.reached, status.problem) == (True, True, "")
        texts = [b"hello!.", b"a" * 500_000, b"!" * 9]
        assert await asyncio.gather(*map(found.asked, texts)) == [each.upper() for each in texts]
        await found.until(lambda each: (each.idle, each.pairs) == (IDLE_CONNECTIONS, 0))

    run(tmp_path, work)


def test_more_followers_than_idle_connections(tmp_path: Path) -> None:
    async def work(found: Reached) -> None:
        texts = [f"follower {number}".encode() for number in range(2 * IDLE_CONNECTIONS)]
        assert await asyncio.gather(*map(found.asked, texts)) == [each.upper() for each in texts]

    run(tmp_path, work)


def test_what_is_cut_is_connected_anew(tmp_path: Path) -> None:
    async def work(found: Reached) -> None:
        assert await found.asked(b"before") == b"BEFORE"
        for each in found.clusters.sockets:
            await each.close()
        assert await found.asked(b"after") == b"AFTER"

    run(tmp_path, work)


def test_a_lead_that_is_away_ends_a_followers_connection(tmp_path: Path) -> None:
    async def work(found: Reached) -> None:
        await found.until(lambda each: each.idle)
        found.clusters.pods = ("relay",)
        assert await found.answer(b"away") == b""
        status = await found.until(lambda each: each.problem)
        assert status.problem == "the lead: no pod with lead=yes runs in namespace science"
        found.clusters.pods = ("relay", "lead")
        assert await found.asked(b"again") == b"AGAIN"

    run(tmp_path, work)


def test_why_there_is_no_tunnel(tmp_path: Path) -> None:
    async def forbidden(found: Reached) -> None:
        status = await found.until(lambda each: each.problem)
        assert (status.problem, status.refused, status.is_ready) == (
            f"the relay: 403: {REFUSAL}",
            True,
            False,
        )

    async def no_relay(found: Reached) -> None:
        status = await found.until(lambda each: each.problem)
        assert status.problem.startswith("the relay: no pod with app.kubernetes.io/name=minicluster,")
        assert not status.refused

    run(tmp_path, forbidden, before="forbidden")
    (tmp_path / "status.json").unlink()
    run(tmp_path, no_relay, before="no relay")


def test_a_port_at_which_nobody_listens(tmp_path: Path) -> None:
    async def work(found: Reached) -> None:
        found.clusters.ports.clear()
        status = await found.until(lambda each: each.problem and not each.idle)
        assert (
            "an error occurred forwarding: connection refused" in status.problem
            or "hung up" in status.problem
        )

    run(tmp_path, work)


def test_its_time_ends_it_and_its_directory(tmp_path: Path) -> None:
    directory = ReachDirectory(tmp_path / "mcb-x")
    directory.path.mkdir()

    async def opened() -> None:
        async with serving(tmp_path) as (_, made):
            directory.write(replace(made, until=1.0))
            words = ("-m", MODULE, str(directory.path))
            process = await asyncio.create_subprocess_exec(sys.executable, *words, stderr=PIPE)
            _, log = await process.communicate()
            assert (process.returncode, log.decode().rpartition(" over: ")[2]) == (
                0,
                "the burst's time is over\n",
            )

    asyncio.run(opened())
    assert not directory.path.exists()


def test_a_record_of_something_else_is_none(tmp_path: Path) -> None:
    directory = ReachDirectory(tmp_path)
    directory.write(task("kubeconfig"))
    assert directory.task() == task("kubeconfig")
    (tmp_path / "task.json").write_text('{"label": "x"}')
    (tmp_path / "status.json").write_text("[]")
    assert (directory.task(), directory.status()) == (None, None)
