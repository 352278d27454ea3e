"""Threads for calls that block: few, and nobody waits for a call that hangs."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as some

from restful.clusters.backoff import Backoff
from restful.clusters.snapshots import CachedSnapshot
from restful.clusters.threads import Threads
from restful.errors import HttpProblem


def test_a_call_that_hangs_is_left_and_others_go_on() -> None:
    end = threading.Event()

    async def work() -> tuple[bool, int]:
        threads = Threads("mc", size=2, waiting=0)
        with pytest.raises(TimeoutError):
            await threads.run(end.wait, 0.01)
        found = await threads.run(lambda: 17, 10)
        end.set()
        threads.close()
        return end.is_set(), found

    assert asyncio.run(work()) == (True, 17)


def test_more_calls_than_may_wait_are_refused() -> None:
    end = threading.Event()

    async def work() -> list[bool]:
        threads = Threads("mc", size=1, waiting=1)
        first, second = threads.start(end.wait), threads.start(end.wait)
        with pytest.raises(HttpProblem, match="2 calls to mc are under way; try again"):
            threads.start(end.wait)
        end.set()
        return [await first, await second]

    assert asyncio.run(work()) == [True, True]


@pytest.mark.parametrize("error", [LookupError("x"), StopIteration()], ids=["error", "end of a stream"])
def test_what_a_call_raises_is_raised_to_who_waits(error: BaseException) -> None:
    def fail() -> None:
        raise error

    async def work() -> None:
        await Threads("mc", 1, 1).run(fail, 10)

    with pytest.raises((LookupError, RuntimeError)):
        asyncio.run(work())


@given(some.floats(0.01, 10), some.floats(0.01, 100), some.integers(1, 2000))
def test_delays_grow_to_the_last_one(first: float, last: float, failures: int) -> None:
    backoff = Backoff(first, last)
    assert backoff.delay(1) == min(first, last)
    assert backoff.delay(failures) <= backoff.delay(failures + 1) <= last


def test_a_snapshot_is_loaded_once_for_all_who_ask_at_once() -> None:
    now, loads = [0.0], list[float]()

    async def load() -> float:
        loads.append(now[0])
        await asyncio.sleep(0)
        return now[0]

    async def work() -> list[float]:
        snapshot = CachedSnapshot(load, 1.0, lambda: now[0])
        now[0] = 10.0
        found = list(await asyncio.gather(*(snapshot.get() for _ in range(5))))
        now[0] = 10.5
        found.append(await snapshot.get())
        now[0] = 11.0
        found.append(await snapshot.get())
        snapshot.forget()
        return [*found, await snapshot.get()]

    assert asyncio.run(work()) == [10.0] * 6 + [11.0] * 2
    assert loads == [10.0, 11.0, 11.0]
