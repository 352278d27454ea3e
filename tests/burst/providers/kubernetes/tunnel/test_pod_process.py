"""The process of a tunnel in a pod: what it shows, and how it ends."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from burst.joining.records import LeadHost
from burst.providers.kubernetes.tunnel import pod_process
from burst.providers.kubernetes.tunnel.pod_process import PodSignals
from burst.providers.kubernetes.tunnel.reach import IDLE_CONNECTIONS
from burst.providers.kubernetes.tunnel.records import ReachStatus, task_of, values_of
from tests.burst.providers.kubernetes.tunnel.test_reach import DEADLINE, Reached
from tests.burst.providers.kubernetes.tunnel.two_clusters import PORT, REFUSAL, serving, task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from burst.providers.kubernetes.tunnel.records import ReachTask
    from tests.burst.providers.kubernetes.tunnel.two_clusters import TwoClusters

PROGRAM = """\
import pathlib, sys
from burst.providers.kubernetes.tunnel import pod_process
folder = pathlib.Path(sys.argv[2])
sys.exit(pod_process.main(sys.argv[1], folder / "ready", folder / "message"))
"""


class ReachedByHost(Reached):
    """A tunnel in this process, whose status is what it has reported."""

    def __init__(self, clusters: TwoClusters) -> None:
        self.clusters = clusters
        self.status = ReachStatus(0, 0)

    async def until(self, condition: Callable[[ReachStatus], object]) -> ReachStatus:
        async with asyncio.timeout(DEADLINE):
            while not condition(self.status):
                await asyncio.sleep(0.01)
        return self.status


class Reporting(PodSignals):
    """What a pod shows, and the status behind it."""

    def __init__(self, ready: Path, found: ReachedByHost) -> None:
        super().__init__(ready)
        self.found = found

    def show(self, status: ReachStatus) -> None:
        super().show(status)
        self.found.status = status


def direct(clusters: TwoClusters, made: ReachTask, host: str = "127.0.0.1") -> ReachTask:
    """Return the task with the lead's own port of this machine."""
    return replace(made, lead=LeadHost(host, clusters.ports["lead", PORT], "system"))


def run(
    folder: Path, work: Callable[[ReachedByHost, Path], Awaitable[None]], host: str = "127.0.0.1"
) -> None:
    async def opened() -> None:
        async with serving(folder) as (clusters, made):
            found = ReachedByHost(clusters)
            shown = Reporting(folder / "ready", found)
            life = asyncio.create_task(pod_process.live(direct(clusters, made, host), shown))
            try:
                await work(found, folder / "ready")
            finally:
                life.cancel()
                await asyncio.gather(life, return_exceptions=True)

    asyncio.run(opened())


def test_followers_are_led_to_the_lead_over_its_network(tmp_path: Path) -> None:
    async def work(found: ReachedByHost, ready: Path) -> None:
        await found.until(lambda each: each.idle == IDLE_CONNECTIONS)
        assert ready.exists()
        texts = [b"hello!.", b"a" * 500_000, b"!" * 9]
        assert await asyncio.gather(*map(found.asked, texts)) == [each.upper() for each in texts]
        await found.until(lambda each: (each.idle, each.pairs) == (IDLE_CONNECTIONS, 0))
        for each in found.clusters.leads:
            each.transport.abort()  # its pod is made anew
        assert await found.asked(b"again") == b"AGAIN"

    run(tmp_path, work)


def test_a_lead_without_an_address_ends_a_followers_connection(tmp_path: Path) -> None:
    async def work(found: ReachedByHost, ready: Path) -> None:
        await found.until(lambda each: each.idle)
        assert await found.answer(b"away") == b""
        status = await found.until(lambda each: each.problem)
        assert status.problem.startswith("the lead: ")
        assert ready.exists()

    run(tmp_path, work, host="127.0.0.1.invalid")


def test_without_a_relay_it_is_not_ready(tmp_path: Path) -> None:
    async def work(found: ReachedByHost, ready: Path) -> None:
        await found.until(lambda each: each.idle)
        found.clusters.pods = ()
        for each in found.clusters.sockets:
            await each.close()
        await found.until(lambda each: not each.idle)
        assert not ready.exists()

    run(tmp_path, work)


async def ended(
    folder: Path, made: ReachTask, work: Callable[[asyncio.subprocess.Process], Awaitable[None]]
) -> int:
    """Return the exit code of a process."""
    words = ("-c", PROGRAM, json.dumps(values_of(made)), str(folder))
    process = await asyncio.create_subprocess_exec(sys.executable, *words)
    async with asyncio.timeout(2 * DEADLINE):
        await work(process)
        return await process.wait()


async def nothing(_process: asyncio.subprocess.Process) -> None:
    pass


def test_how_it_ends(tmp_path: Path) -> None:
    ready, message = tmp_path / "ready", tmp_path / "message"

    async def terminated(process: asyncio.subprocess.Process) -> None:
        while not ready.exists():
            await asyncio.sleep(0.01)
        process.terminate()

    async def opened() -> None:
        async with serving(tmp_path) as (clusters, made):
            wanted = direct(clusters, made)
            assert await ended(tmp_path, wanted, terminated) == 143
            assert not ready.exists()
            assert await ended(tmp_path, replace(wanted, until=1.0), nothing) == 0
            assert not message.exists()
            clusters.is_forbidden = True
            assert await ended(tmp_path, wanted, nothing) == 1
            assert json.loads(message.read_text()) == {"error": f"the relay: 403: {REFUSAL}", "refused": True}
            gone = replace(wanted, kubeconfig="/nowhere")
            assert await ended(tmp_path, gone, nothing) == 1
            assert json.loads(message.read_text()) == {
                "error": "kubeconfig /nowhere cannot be read: No such file or directory",
                "refused": False,
            }

    asyncio.run(opened())


def test_a_task_is_read_as_it_was_written() -> None:
    made = task("kubeconfig")
    for each in (made, replace(made, lead=LeadHost("mc-0.mc.science.svc", 8050, "system"))):
        assert task_of(json.loads(json.dumps(values_of(each)))) == each
    assert task_of({"lead": 1}) is None
    assert pod_process.main("{}") == 2
