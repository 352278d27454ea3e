"""Containers that are started again: when, how often, and what is kept of that."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from minicluster.local import container_restarts
from minicluster.local.container_restarts import ContainerRestarts
from minicluster.local.records import EndedContainer, LocalContainer, LocalPod

CONTAINER = LocalContainer("c", ("true",), {}, Path("/"))
ENDED = EndedContainer(LocalPod("mc-1", (CONTAINER,)), CONTAINER, 1)


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_restarts, "back_off", lambda _times: 0.0)


def test_nothing_is_kept_of_a_restart_that_was_made() -> None:
    """A sidecar may be started again for months."""

    async def run() -> tuple[int, int]:
        restarted = asyncio.Event()
        restarts = ContainerRestarts(lambda _ended: restarted.set())
        restarts.plan(ENDED)
        waiting = len(restarts)
        await restarted.wait()
        return waiting, len(restarts)

    assert asyncio.run(run()) == (1, 0)


def test_what_is_cancelled_is_not_started() -> None:
    async def run() -> list[EndedContainer]:
        restarted: list[EndedContainer] = []
        restarts = ContainerRestarts(restarted.append)
        restarts.plan(ENDED)
        restarts.cancel()
        over = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.0, over.set_result, None)  # timers go in order
        await over
        return restarted

    assert asyncio.run(run()) == []
