"""Algorithm 1: nodes, workers and groups by the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queue_policies.errors import Undividable
from queue_policies.placement.granularity import granularity
from queue_policies.placement.records import ProfileKind

if TYPE_CHECKING:
    from collections.abc import Sequence

FOUR = (32, 32, 32, 32)


@pytest.mark.parametrize(
    ("policy", "kind", "tasks", "nodes", "expected"),
    [
        pytest.param("none", "cpu", 16, FOUR, (1, 1, 1), id="none"),
        pytest.param("none", "cpu", 40, FOUR, (2, 2, 2), id="none, larger than a node"),
        pytest.param("scale", "network", 16, FOUR, (1, 1, 1), id="scale, network"),
        pytest.param("scale", "cpu", 16, FOUR, (4, 4, 4), id="scale, cpu"),
        pytest.param("scale", "memory", 16, FOUR, (4, 4, 4), id="scale, memory"),
        pytest.param("scale", "memory", 3, FOUR, (3, 3, 3), id="scale, fewer tasks than nodes"),
        pytest.param("granularity", "network", 16, FOUR, (1, 1, 1), id="granularity, network"),
        pytest.param("granularity", "network", 70, FOUR, (3, 3, 3), id="a network job larger than two nodes"),
        pytest.param("granularity", "cpu", 16, FOUR, (4, 16, 4), id="granularity, cpu"),
        pytest.param("granularity", "memory", 16, FOUR, (4, 16, 4), id="granularity, memory"),
        pytest.param("granularity", "memory", 2, FOUR, (2, 2, 2), id="granularity, two tasks"),
        pytest.param("granularity", "io", 16, FOUR, (4, 4, 4), id="io: one worker a node"),
        pytest.param("none", "io", 16, FOUR, (1, 1, 1), id="io without a policy"),
        pytest.param("granularity", "", 16, FOUR, (1, 1, 1), id="no profile: as without a policy"),
        pytest.param("predicted", "cpu", 16, FOUR, (4, 16, 4), id="predicted, cpu: a worker a task"),
        pytest.param("predicted", "memory", 16, FOUR, (4, 8, 8), id="predicted, memory: one a domain"),
        pytest.param("predicted", "memory", 5, FOUR, (4, 5, 5), id="predicted, few tasks"),
        pytest.param("predicted", "network", 16, FOUR, (1, 1, 1), id="predicted, network"),
        pytest.param("scale", "cpu", 20, (8, 8, 8, 2), (4, 4, 4), id="nodes of other sizes"),
        pytest.param("granularity", "network", 10, (4, 8, 2), (2, 2, 2), id="the largest nodes first"),
        pytest.param("granularity", "network", 99, (4, 8, 2), (3, 3, 3), id="more than there is: all nodes"),
    ],
)
def test_a_job_is_divided(
    policy: str, kind: str, tasks: int, nodes: Sequence[int], expected: tuple[int, int, int]
) -> None:
    profile = ProfileKind(kind) if kind else None
    assert granularity(tasks, profile, policy, nodes, domains=2) == expected


@pytest.mark.parametrize(("asked", "workers"), [(4, 4), (99, 16), (0, 1)])
def test_without_a_policy_the_users_number_of_workers_stays_up_to_one_a_task(
    asked: int, workers: int
) -> None:
    assert granularity(16, None, "none", FOUR, workers=asked).workers == workers


@pytest.mark.parametrize(
    ("tasks", "nodes", "message"),
    [
        pytest.param(
            4,
            (),
            "4 task(s) cannot be divided among 0 node(s): no node is on offer",
            id="no nodes",
        ),
        pytest.param(
            4,
            (0, 0),
            "4 task(s) cannot be divided among 2 node(s): none has room for one",
            id="full",
        ),
        pytest.param(0, (8,), "0 task(s) cannot be divided among 1 node(s): there are none", id="no tasks"),
    ],
)
def test_without_tasks_or_nodes_there_is_a_reason(tasks: int, nodes: Sequence[int], message: str) -> None:
    with pytest.raises(Undividable) as error:
        granularity(tasks, ProfileKind.CPU, "scale", nodes)
    assert str(error.value) == message
