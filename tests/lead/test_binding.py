"""What real Flux's job shells are to do about the cores of tasks."""

from __future__ import annotations

import pytest

from minicluster.flux_scheduler.binding import bindings, with_bindings
from minicluster.flux_scheduler.topology import NodeTopology, parse
from queue_policies.placement.records import Affinity, Profile, ProfileKind, TaskShape
from queue_policies.placement.workers import TaskWorker, floats
from tests.lead.hwloc_xml import topology_xml

FOUR = parse(topology_xml([[cpu] for cpu in range(4)]))
PAIRS = parse(topology_xml([[cpu, cpu + 4] for cpu in range(4)]))
"""Cores with two hyperthreads each."""


@pytest.mark.parametrize(
    ("workers", "topology", "table"),
    [
        pytest.param([TaskWorker(0b11, 2)], FOUR, {"tasks": [2]}, id="one worker has all cores"),
        pytest.param(
            [TaskWorker(0b01, 1), TaskWorker(0b10, 1)],
            FOUR,
            {"tasks": [1, 1], "cpus": ["0", "1"]},
            id="a task each",
        ),
        pytest.param(
            [TaskWorker(0b0101, 2), TaskWorker(0b1010, 2)],
            FOUR,
            {"tasks": [2, 2], "cpus": ["0,2", "1,3"]},
            id="two tasks each",
        ),
        pytest.param(
            [TaskWorker(0b0011, 2), TaskWorker(0b0100, 1)],
            PAIRS,
            {"tasks": [2, 1], "cpus": ["0-1,4-5", "2,6"]},
            id="hyperthreads",
        ),
        pytest.param(
            [TaskWorker(0b01, 1), TaskWorker(0b10, 1)], None, {"tasks": [1, 1]}, id="an unknown node"
        ),
        pytest.param(
            [TaskWorker(1 << 3, 1), TaskWorker(1 << 4, 1)],
            FOUR,
            {"tasks": [1, 1]},
            id="a core that the node has not",
        ),
    ],
)
def test_a_rank_has_the_cpus_of_its_workers(
    workers: list[TaskWorker], topology: NodeTopology | None, table: dict[str, object]
) -> None:
    known = {} if topology is None else {2: topology}
    assert bindings({2: workers}, known) == {"2": {"first": 0, **table}}


def test_workers_are_numbered_over_all_ranks() -> None:
    two = TaskWorker(0b01, 1), TaskWorker(0b10, 1)
    made = bindings({3: two, 1: two}, {})
    assert {rank: table["first"] for rank, table in made.items()} == {"1": 0, "3": 2}


@pytest.mark.parametrize(
    ("shape", "of_instance", "floating"),
    [
        pytest.param(None, None, False, id="nothing is said"),
        pytest.param(None, Affinity.NONE, True, id="none"),
        pytest.param(None, Affinity.REQUIRED, False, id="required"),
        pytest.param(TaskShape(affinity=Affinity.REQUIRED), Affinity.NONE, False, id="the job's own counts"),
        pytest.param(TaskShape(Profile(ProfileKind.IO)), None, True, id="input and output"),
        pytest.param(TaskShape(Profile(ProfileKind.IO)), Affinity.BEST_EFFORT, False, id="unless it is said"),
        pytest.param(TaskShape(Profile(ProfileKind.CPU)), None, False, id="another profile"),
    ],
)
def test_tasks_float_where_nothing_is_to_be_bound(
    shape: TaskShape | None, of_instance: Affinity | None, floating: bool
) -> None:
    assert floats(shape, of_instance) is floating


def test_r_has_the_tables() -> None:
    """Where the shell plug-in reads them."""
    made = with_bindings({"version": 1}, {"0": {"floats": True}})
    assert made == {"version": 1, "attributes": {"user": {"placement": {"0": {"floats": True}}}}}
