"""What real Flux's job shells are to do about the cores of tasks."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.flux_scheduler.binding import bindings, with_bindings
from minicluster.flux_scheduler.topology import Topology, parse
from queue_policies.placement.workers import TaskWorker
from tests.lead.hwloc_xml import topology_xml

FOUR = parse(topology_xml([[cpu] for cpu in range(4)]))
PAIRS = parse(topology_xml([[cpu, cpu + 4] for cpu in range(4)]))
"""Cores with two hyperthreads each."""


@pytest.mark.parametrize(
    ("workers", "topology", "table"),
    [
        pytest.param([TaskWorker(0b11, 2)], FOUR, {"workers": [0, 0]}, id="one worker has all cores"),
        pytest.param(
            [TaskWorker(0b01, 1), TaskWorker(0b10, 1)],
            FOUR,
            {"workers": [0, 1], "cpu-affinity": "map:0;1"},
            id="a task each",
        ),
        pytest.param(
            [TaskWorker(0b0101, 2), TaskWorker(0b1010, 2)],
            FOUR,
            {"workers": [0, 0, 1, 1], "cpu-affinity": "map:0,2;0,2;1,3;1,3"},
            id="two tasks each",
        ),
        pytest.param(
            [TaskWorker(0b0011, 2), TaskWorker(0b0100, 1)],
            PAIRS,
            {"workers": [0, 0, 1], "cpu-affinity": "map:0-1,4-5;0-1,4-5;2,6"},
            id="hyperthreads",
        ),
        pytest.param(
            [TaskWorker(0b01, 1), TaskWorker(0b10, 1)],
            None,
            {"workers": [0, 1], "cpu-affinity": "per-task"},
            id="a task each on an unknown node",
        ),
        pytest.param(
            [TaskWorker(0b0011, 2), TaskWorker(0b1100, 2)],
            None,
            {"workers": [0, 0, 1, 1]},
            id="two tasks each on an unknown node",
        ),
        pytest.param(
            [TaskWorker(1 << 4, 1), TaskWorker(1 << 5, 1)],
            FOUR,
            {"workers": [0, 1], "cpu-affinity": "per-task"},
            id="cores that the node has not",
        ),
    ],
)
def test_a_rank_has_the_cpus_of_its_workers(
    workers: list[TaskWorker], topology: Topology | None, table: object
) -> None:
    known = {} if topology is None else {2: topology}
    assert bindings({2: workers}, known) == {"2": table}


def test_workers_are_numbered_over_all_ranks() -> None:
    one = TaskWorker(0b01, 1), TaskWorker(0b10, 1)
    made = bindings({3: one, 1: one}, {})
    assert {rank: table["workers"] for rank, table in made.items()} == {"1": [0, 1], "3": [2, 3]}


def test_tasks_that_float_are_bound_to_nothing() -> None:
    made = bindings({0: [TaskWorker(0b11, 2)]}, {0: FOUR}, floats=True)
    assert made == {"0": {"workers": [0, 0], "cpu-affinity": "off"}}


@pytest.mark.parametrize(
    ("resources", "attributes"),
    [
        pytest.param({"version": 1}, {"user": {"placement": {"0": {}}}}, id="none"),
        pytest.param(
            {"version": 1, "attributes": {"system": {}, "user": {"x": 1}}},
            {"system": {}, "user": {"x": 1, "placement": {"0": {}}}},
            id="others",
        ),
    ],
)
def test_other_attributes_of_r_stay(resources: dict[str, Any], attributes: object) -> None:
    assert with_bindings(resources, {"0": {}}) == {"version": 1, "attributes": attributes}
