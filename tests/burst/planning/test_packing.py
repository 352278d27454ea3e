"""How many nodes jobs need, against a schedule that is made step by step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats.jobspec import RequestedResources
from burst.planning.packing import PackedJob, least_nodes, makespan, nodes_of
from burst.planning.records import NodeShape

TASKS = st.lists(st.builds(PackedJob, st.integers(1, 4), st.integers(1, 9)), min_size=1, max_size=8)


def stepwise(tasks: list[PackedJob], nodes: int) -> int:
    """The same schedule, a second at a time."""
    waiting, running, now = list(tasks), list[list[int]](), 0
    while waiting or running:
        free = nodes - sum(each[0] for each in running)
        while waiting and waiting[0].nodes <= free:
            task = waiting.pop(0)
            running.append([task.nodes, int(task.seconds)])
            free -= task.nodes
        now += 1
        for each in running:
            each[1] -= 1
        running = [each for each in running if each[1]]
    return now


@given(TASKS, st.integers(4, 9))
def test_the_schedule_is_that_of_the_order(tasks: list[PackedJob], nodes: int) -> None:
    assert makespan(tasks, nodes) == stepwise(tasks, nodes)


@given(TASKS, st.integers(4, 9), st.data())
def test_a_job_that_ends_sooner_makes_none_later(
    tasks: list[PackedJob], nodes: int, data: st.DataObject
) -> None:
    sooner = [task._replace(seconds=data.draw(st.integers(1, int(task.seconds)))) for task in tasks]
    assert makespan(sooner, nodes) <= makespan(tasks, nodes)


def test_a_job_that_is_too_large_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="a job of 3 nodes on 2"):
        makespan([PackedJob(3, 1)], 2)


@given(TASKS, st.integers(1, 30), st.integers(1, 12))
def test_it_is_the_least_number(tasks: list[PackedJob], window: int, most: int) -> None:
    large = max(task.nodes for task in tasks)
    enough = [n for n in range(large, most + 1) if stepwise(tasks, n) <= window]
    assert least_nodes(tasks, most, window) == (enough[0] if enough else None)


def test_no_time_is_never_enough() -> None:
    assert least_nodes([PackedJob(1, 1)], 8, 0) is None


@pytest.mark.parametrize(
    ("request_", "nodes"),
    [
        (RequestedResources(0, 1, 1, 0), 1),
        (RequestedResources(0, 8, 1, 0), 2),
        (RequestedResources(0, 9, 1, 0), 3),
        (RequestedResources(0, 3, 2, 1), 3),
        (RequestedResources(0, 1, 5, 0), None),
        (RequestedResources(0, 1, 1, 2), None),
        (RequestedResources(3, 4, 1, 0), 3),
        (RequestedResources(3, 5, 1, 0), None),
        (RequestedResources(3, 2, 1, 1), None),
        (RequestedResources(2, 1, 1, 0, exclusive=True), 2),
    ],
)
def test_nodes_of_a_request(request_: RequestedResources, nodes: int | None) -> None:
    """On nodes of four cores and one GPU."""
    assert nodes_of(request_, NodeShape(4, 1)) == nodes
