"""However much is heard of a MiniCluster, it is looked at once."""

import asyncio

from minicluster.kube_client.objects import Name
from minicluster.operator.debounce import Debounce
from tests.operator.virtual_time import run

ONE, OTHER = Name("science", "one"), Name("science", "other")


def test_many_changes_are_one_poll() -> None:
    async def work() -> tuple[list[Name], list[Name]]:
        first: list[Name] = []
        second: list[Name] = []
        notice = Debounce(first.append, second.append)
        for name in (ONE, OTHER, ONE, ONE):
            notice(name)
        assert first == []
        await asyncio.sleep(1)
        return first, second

    assert run(work()) == ([ONE, OTHER], [ONE, OTHER])


def test_what_comes_later_is_observed_again() -> None:
    async def work() -> list[Name]:
        polled: list[Name] = []
        notice = Debounce(polled.append)
        notice(ONE)
        await asyncio.sleep(1)
        notice(ONE)
        await asyncio.sleep(1)
        return polled

    assert run(work()) == [ONE, ONE]
