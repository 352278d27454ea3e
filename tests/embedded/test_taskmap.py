"""Task layouts, as Flux's shell makes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.embedded.errors import LayoutError
from minicluster.embedded.jobs import taskmap


def resources(*cores: str, nslots: int | None = None, hosts: str = "") -> dict[str, Any]:
    lite = [{"rank": str(rank), "children": {"core": each}} for rank, each in enumerate(cores)]
    names = hosts or f"n[0-{len(cores) - 1}]"
    execution = {"R_lite": lite, "nodelist": [names], "starttime": 0, "expiration": 0}
    return {"version": 1, "execution": execution | ({"nslots": nslots} if nslots else {})}


def jobspec(slot_cores: int = 1, count: dict[str, int] | None = None, **options: object) -> dict[str, Any]:
    slot = {"type": "slot", "count": 1, "label": "task", "with": [{"type": "core", "count": slot_cores}]}
    return {
        "resources": [{"type": "node", "count": 1, "with": [slot]}],
        "tasks": [{"command": ["x"], "slot": "task", "count": count or {"per_slot": 1}}],
        "attributes": {"system": {"shell": {"options": options}}},
    }


@pytest.mark.parametrize(
    ("spec", "r", "expected"),
    [
        pytest.param(jobspec(), resources("0-1", "0-1"), [2, 2], id="one task a core"),
        pytest.param(jobspec(), resources("0-1", "0"), [2, 1], id="uneven"),
        pytest.param(jobspec(2), resources("0-3", "0-1"), [2, 1], id="two cores a task"),
        pytest.param(jobspec(), resources("0-3", "0-3", nslots=2), [1, 1], id="nslots below the cores"),
        pytest.param(jobspec(), resources("0", "0-3", nslots=3), [1, 2], id="the larger node first"),
        pytest.param(
            jobspec(count={"total": 6}), resources("0-1", "0-1"), [3, 3], id="more tasks than cores"
        ),
        pytest.param(
            jobspec(**{"per-resource": {"type": "node", "count": 2}}),
            resources("0-3", "0"),
            [2, 2],
            id="per node",
        ),
        pytest.param(
            jobspec(**{"per-resource": {"type": "node"}}), resources("0-3", "0"), [1, 1], id="one per node"
        ),
        pytest.param(
            jobspec(**{"per-resource": {"type": "core", "count": 2}}),
            resources("0-1", "0"),
            [4, 2],
            id="per core",
        ),
    ],
)
def test_layout(spec: dict[str, Any], r: dict[str, Any], expected: list[int]) -> None:
    assert [len(node.tasks) for node in taskmap.layout(spec, r)] == expected


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 60), st.integers(1, 9))
def test_every_task_has_one_rank(cores: list[int], tasks: int, each: int) -> None:
    """Whatever the nodes, all tasks are placed."""
    assert sum(taskmap.distribute(cores, tasks, each)) == tasks


def test_tasks_are_numbered_in_blocks() -> None:
    nodes = taskmap.layout(jobspec(), resources("0-1", "0", "0-1"))
    assert [node.tasks for node in nodes] == [(0, 1), (2,), (3, 4)]


@pytest.mark.parametrize(
    ("r", "message"),
    [
        (resources("0", hosts="a,b"), "R must have one host a rank"),
        (resources(""), "no cores"),
    ],
    ids=["hosts", "cores"],
)
def test_impossible(r: dict[str, Any], message: str) -> None:
    """An R without place for tasks is refused with the reason."""
    with pytest.raises(LayoutError, match=message):
        taskmap.layout(jobspec(), r)


@pytest.mark.parametrize(
    ("cores", "mapping"),
    [
        (("0-1", "0-1"), "(vector,(0,2,2))"),
        (("0-1", "0"), "(vector,(0,1,2),(1,1,1))"),
        (("0",), "(vector,(0,1,1))"),
    ],
    ids=str,
)
def test_process_mapping(cores: tuple[str, ...], mapping: str) -> None:
    assert taskmap.process_mapping(taskmap.layout(jobspec(), resources(*cores))) == mapping
