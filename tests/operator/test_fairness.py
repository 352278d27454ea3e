"""Namespaces take turns: whatever one of them asks for, the others are served between."""

import asyncio
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.kube_client.objects import Name
from minicluster.operator.queue import WorkQueue
from minicluster.operator.slots import Slots
from tests.operator.virtual_time import Waiting, now, run

CROWD = 1000


def clock() -> float:
    """Return the seconds since the start."""
    return now() - Waiting.now


def names(namespace: str, count: int) -> list[Name]:
    return [Name(namespace, f"mc-{number:04}") for number in range(count)]


async def served(queue: WorkQueue) -> list[Name]:
    """Take all that is due, one at a time."""
    came = []
    while len(queue):
        name = await queue.take()
        came.append(name)
        queue.done(name)
    return came


def order(queue: WorkQueue) -> str:
    """Return the namespaces in the order in which they are served."""
    return "".join(name.namespace for name in run(served(queue)))


def added(groups: Iterable[list[Name]], *, urgent: bool = True) -> WorkQueue:
    queue = WorkQueue(lambda: 0.0)
    for group in groups:
        for name in group:
            (queue.add if urgent else queue.add_spaced)(name)
    return queue


@pytest.mark.parametrize("urgent", [True, False], ids=["urgent", "others"])
def test_one_name_waits_for_one_of_a_crowd(urgent: bool) -> None:
    queue = added([names("a", CROWD), names("b", 1)], urgent=urgent)
    assert order(queue) == "ab" + "a" * (CROWD - 1)


def test_three_namespaces_are_alternate() -> None:
    assert order(added([names("a", 4), names("b", 2), names("c", 3)])) == "abcabcaca"


def test_a_namespace_keeps_the_order_in_which_its_names_became_due() -> None:
    both = names("a", 30)
    assert [each for each in run(served(added([both, names("b", 9)]))) if each.namespace == "a"] == both


def test_a_newer_status_waits_for_no_crowd_of_another_namespace() -> None:
    """Urgent names come first, but only of the same namespace."""
    queue = added([names("a", CROWD)])
    queue.add_spaced(Name("b", "mc"))
    assert order(queue)[:2] == "ab"


def test_a_crowd_that_never_ends_comes_every_second_time() -> None:
    """Each of its names is added again at once, while it is worked on."""

    async def work() -> list[str]:
        queue = added([names("a", CROWD), names("b", 5)])
        came = []
        for _ in range(10):
            name = await queue.take()
            came.append(name.namespace)
            if name.namespace == "a":
                queue.add(name)
            queue.done(name)
        return came

    assert run(work()) == ["a", "b"] * 5


def test_a_namespace_that_was_quiet_has_saved_nothing() -> None:
    """It takes turns from now on; it does not get all those that it did not use."""

    async def work() -> list[str]:
        queue = added([names("a", CROWD)])
        for _ in range(100):
            queue.done(await queue.take())
        for name in names("b", 100):
            queue.add(name)
        return [(await queue.take()).namespace for _ in range(6)]

    assert sorted(run(work())) == ["a", "a", "a", "b", "b", "b"]


def test_failures_of_one_namespace_hold_nobody_up_before_they_are_due() -> None:
    async def work() -> list[str]:
        queue = WorkQueue(clock)
        for name in names("a", CROWD):
            queue.failed(name)
        await asyncio.sleep(0.1)
        for name in names("b", 3):
            queue.add(name)
        return [(await queue.take()).namespace for _ in range(3)]

    assert run(work()) == ["b"] * 3


NAMESPACES = st.sampled_from("abc")


@given(st.lists(st.tuples(NAMESPACES, st.integers(0, 9), st.integers(0, 2)), max_size=60))
def test_who_is_due_is_passed_over_once_by_each_other_namespace(asked: list[tuple[str, int, int]]) -> None:
    """Whatever is added when: while one waits, no other namespace is served twice."""

    async def work() -> None:
        queue, waiting = WorkQueue(clock), dict[str, list[str]]()
        due: dict[Name, float] = {}
        for namespace, number, delay in asked:
            name = Name(namespace, str(number))
            queue.add(name, delay)
            due[name] = min(clock() + delay, due.get(name, 1000.0))
        while len(queue):
            name = await queue.take()
            del due[name]
            ready = {each.namespace for each, time in due.items() if time <= clock()}
            others = waiting.pop(name.namespace, [])
            assert len(others) == len(set(others))
            waiting = {each: [*waiting.get(each, []), name.namespace] for each in ready - {name.namespace}}
            queue.done(name)
            await asyncio.sleep(0.25)

    run(work())


def test_namespaces_that_wait_for_a_slot_alternate() -> None:
    """As heavy documents do; one namespace's hundred do not hold another's up."""

    async def work() -> list[str]:
        slots, came = Slots(2), list[str]()

        async def use(namespace: str) -> None:
            await slots.acquire(namespace)
            came.append(namespace)
            await asyncio.sleep(1)
            slots.release()

        await asyncio.gather(*(use(each) for each in ["a"] * 100 + ["b"] * 2 + ["c"]))
        return came

    assert "".join(run(work())) == "aa" + "abcab" + "a" * 96


def test_who_waits_no_more_takes_no_slot() -> None:
    async def work() -> bool:
        slots = Slots(1)
        await slots.acquire("a")
        gone, kept = (asyncio.create_task(slots.acquire(each)) for each in "bc")
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        slots.release()
        await asyncio.wait_for(kept, 1)
        slots.release()
        await asyncio.wait_for(slots.acquire("a"), 1)
        return True

    assert run(work())


def test_a_slot_that_is_given_to_one_who_is_cancelled_is_not_lost() -> None:
    async def work() -> bool:
        slots = Slots(1)
        await slots.acquire("a")
        waiting = asyncio.create_task(slots.acquire("b"))
        await asyncio.sleep(0)
        slots.release()
        waiting.cancel()
        await asyncio.wait([waiting])
        await asyncio.wait_for(slots.acquire("c"), 1)
        return waiting.cancelled()

    assert run(work())
