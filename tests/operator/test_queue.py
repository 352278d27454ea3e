"""The queue: what comes when, on a clock that jumps."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.kube_client.objects import Name
from minicluster.operator.queue import MAX_RETRY_DELAY, MIN_RETRY_DELAY, WorkQueue
from tests.operator.virtual_time import Waiting, now, run

SPACING = 1.0
A, B, C = (Name("science", each) for each in "abc")


def clock() -> float:
    """Return the seconds since the start."""
    return now() - Waiting.now


async def drain(queue: WorkQueue, seconds: float = 1000.0) -> list[tuple[str, float]]:
    """Take whatever comes, each given back at once; return names and when they came."""
    came = []
    try:
        async with asyncio.timeout(seconds):
            while True:
                name = await queue.take()
                came.append((name.name, clock()))
                queue.done(name)
    except TimeoutError:
        return came


Play = Callable[[WorkQueue], object]
PLAYS: dict[str, tuple[Play, list[tuple[str, float]]]] = {
    "each name comes": (lambda queue: [queue.add(B), queue.add(A)], [("a", 0), ("b", 0)]),
    "twice is once": (lambda queue: [queue.add(A), queue.add(A)], [("a", 0)]),
    "not before it is due": (lambda queue: queue.add(A, 5), [("a", 5)]),
    "the earlier time counts, asked for first": (
        lambda queue: [queue.add(A, 1), queue.add(A, 5)],
        [("a", 1)],
    ),
    "the earlier time counts, asked for last": (lambda queue: [queue.add(A, 5), queue.add(A, 1)], [("a", 1)]),
    "one that is due waits for no other": (
        lambda queue: [queue.add(A, 5), queue.add(B, 2)],
        [("b", 2), ("a", 5)],
    ),
    "one that was forgotten does not come": (lambda queue: [queue.add(A), queue.forget(A)], []),
    "the first time is not spaced": (lambda queue: queue.add_spaced(A), [("a", 0)]),
    "the next is spaced": (lambda queue: [queue.done(A), queue.add_spaced(A)], [("a", SPACING)]),
    "nor is what somebody waits for": (
        lambda queue: [queue.done(A), queue.add_spaced(A), queue.add(A)],
        [("a", 0)],
    ),
    "nor one that was gone in between": (
        lambda queue: [queue.done(A), queue.forget(A), queue.add_spaced(A)],
        [("a", 0)],
    ),
    "a failure comes again": (lambda queue: queue.failed(A), [("a", MIN_RETRY_DELAY)]),
    "not before the server wants it": (lambda queue: queue.failed(A, 7), [("a", 7)]),
    "a change does not wait for that": (lambda queue: [queue.failed(A, 7), queue.add(A)], [("a", 0)]),
}


@pytest.mark.parametrize(("play", "comes"), PLAYS.values(), ids=PLAYS)
def test_what_comes_when(play: Play, comes: list[tuple[str, float]]) -> None:
    async def work() -> list[tuple[str, float]]:
        queue = WorkQueue(clock, SPACING)
        play(queue)
        return await drain(queue)

    assert run(work()) == comes


def test_spacing_counts_from_the_last_time() -> None:
    """Who was looked at long ago comes at once."""

    async def work() -> list[tuple[str, float]]:
        queue = WorkQueue(clock, SPACING)
        queue.done(A)
        await asyncio.sleep(SPACING / 4)
        queue.done(B)
        await asyncio.sleep(SPACING)
        queue.add_spaced(A)
        queue.add_spaced(B)
        return await drain(queue)

    assert run(work()) == [("a", 1.25 * SPACING), ("b", 1.25 * SPACING)]


def test_a_name_is_never_given_out_twice() -> None:
    """What changes while it is worked on comes again, but only after that."""

    async def work() -> tuple[float, float]:
        queue = WorkQueue(clock, SPACING)
        queue.add(A)
        await queue.take()
        queue.add(A)
        second = asyncio.create_task(queue.take())
        await asyncio.sleep(30)
        early = second.done()
        queue.done(A)
        await second
        return early, clock()

    assert run(work()) == (False, 30)


def test_a_name_that_is_worked_on_does_not_hold_up_others() -> None:
    async def work() -> list[Name]:
        queue = WorkQueue(clock, SPACING)
        queue.add(A)
        taken = [await queue.take()]
        queue.add(A)
        queue.add(B)
        return [*taken, await queue.take()]

    assert run(work()) == [A, B]


def test_every_worker_that_waits_gets_something() -> None:
    async def work() -> list[Name]:
        queue = WorkQueue(clock, SPACING)
        workers = [asyncio.create_task(queue.take()) for _ in range(3)]
        await asyncio.sleep(1)
        for name in (C, A, B):
            queue.add(name)
        return sorted(await asyncio.gather(*workers))

    assert run(work()) == [A, B, C]


def test_a_worker_that_waits_for_something_late_takes_what_comes_earlier() -> None:
    async def work() -> tuple[Name, float]:
        queue = WorkQueue(clock, SPACING)
        queue.add(A, 100)
        worker = asyncio.create_task(queue.take())
        await asyncio.sleep(1)
        queue.add(B, 2)
        return await worker, clock()

    assert run(work()) == (B, 3)


def test_failures_wait_longer_each_time() -> None:
    """Twice as long, up to a minute."""
    queue = WorkQueue(lambda: 0.0)
    delays = [queue.failed(A) for _ in range(20)]
    assert delays[:4] == [MIN_RETRY_DELAY * factor for factor in (1, 2, 4, 8)]
    assert delays[-1] == MAX_RETRY_DELAY


def test_endless_failures_are_endured() -> None:
    """An API server that refuses for a week: the number of failures outgrows every power of two."""
    queue = WorkQueue(lambda: 0.0)
    queue._failures[A] = 5000
    assert queue.failed(A) == MAX_RETRY_DELAY


def test_success_forgets_failures() -> None:
    queue = WorkQueue(lambda: 0.0)
    queue.failed(A)
    queue.failed(A)
    queue.succeeded(A)
    assert (queue.failures(A), queue.failed(A)) == (0, MIN_RETRY_DELAY)


def test_its_length_is_what_is_planned() -> None:
    queue = WorkQueue(lambda: 0.0)
    for name in (A, B, A):
        queue.add(name, 3)
    assert len(queue) == 2


@given(st.lists(st.tuples(st.sampled_from([A, B, C]), st.integers(0, 20)), max_size=30))
def test_whatever_is_asked_for_comes_once_and_in_time(asked: list[tuple[Name, int]]) -> None:
    """Each name at the earliest time that was asked for, whatever the order of asking."""

    async def work() -> list[tuple[str, float]]:
        queue = WorkQueue(clock, SPACING)
        for name, delay in asked:
            queue.add(name, delay)
        return await drain(queue)

    earliest = {name: min(delay for other, delay in asked if other == name) for name, _ in asked}
    assert sorted(run(work())) == sorted((name.name, when) for name, when in earliest.items())
