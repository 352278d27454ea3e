"""First come, first served."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies.fcfs import Fcfs
from queue_policies.records import State


@pytest.mark.parametrize(
    ("sizes", "started"),
    [
        pytest.param([1, 2, 1], [1, 2, 3], id="all fit"),
        pytest.param([3, 2, 1], [1], id="nothing overtakes the blocked head"),
        pytest.param([5], [], id="larger than what is free"),
        pytest.param([], [], id="an empty queue"),
    ],
)
def test_starts_in_order_until_one_does_not_fit(kit: Any, sizes: list[int], started: list[int]) -> None:
    waiting = [kit.Job(number, size) for number, size in enumerate(sizes, 1)]
    assert kit.starts(Fcfs(), waiting) == started


def test_a_higher_priority_goes_first(kit: Any) -> None:
    assert kit.starts(Fcfs(), [kit.Job(1, 4), kit.Job(2, 4, priority=20)]) == [2]


def test_a_decision_considers_the_head_only(kit: Any) -> None:
    """However many jobs wait behind a blocked head, none of them is read."""

    class Counting(list[Any]):
        read = 0

        def __iter__(self) -> Any:
            for item in super().__iter__():
                Counting.read += 1
                yield item

    queue = Counting(kit.Job(number, 9).queued() for number in range(1000))
    Fcfs().decide(State(queue, {}, kit.CountingCluster(4), ()), 0.0)  # type: ignore[arg-type]
    assert Counting.read == 1
