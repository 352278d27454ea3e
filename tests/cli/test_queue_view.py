"""Why a job waits, and how `top` looks."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from minicluster.backends.records import ClusterSample
from minicluster.cli import queue_view, top
from minicluster.cli.queue_view import QueueView
from minicluster.instance.records import Job, JobState, QueueStatus, Resources, ResourceSubset

FOUR = ResourceSubset((0, 1, 2, 3), ("a", "b", "c", "d"), cores=8)
UP = ResourceSubset((0, 1), ("a", "b"), cores=4)
THERE = Resources(
    FOUR, UP, FOUR, ResourceSubset((1,), ("b",), cores=1), UP, ResourceSubset(), ResourceSubset()
)
WAITS = Job(1, JobState.SCHED)
STARTED = QueueStatus("", enabled=True, started=True)
RESOURCES = "waits for resources: 1 of 4 cores on 2 nodes are free"
CASES: dict[str, tuple[dict[str, Any], QueueStatus, str]] = {
    "resources": ({}, STARTED, RESOURCES),
    "the scheduler's own words": (
        {"annotations": {"sched": {"reason_pending": "no GPUs"}}},
        STARTED,
        "no GPUs",
    ),
    "annotations of others": ({"annotations": {"sched": "odd"}}, STARTED, RESOURCES),
    "held": ({"urgency": 0}, STARTED, "held: its urgency is 0"),
    "another job": (
        {"state": JobState.DEPEND, "dependencies": ("after-success=\u0192A",)},
        STARTED,
        "depends on after-success=\u0192A",
    ),
    "another job, nobody says which": ({"state": JobState.DEPEND}, STARTED, "depends on other jobs"),
    "the queue": ({}, QueueStatus("", enabled=True, started=False), "the queue is stopped"),
    "the queue, and why": (
        {"queue": "batch"},
        QueueStatus("batch", enabled=True, started=False, stop_reason="at night"),
        "queue batch is stopped: at night",
    ),
    "another queue": ({"queue": "debug"}, QueueStatus("batch", enabled=True, started=False), RESOURCES),
    "too much": ({"nnodes": 5}, STARTED, "asks for 5 nodes, there will never be more than 4"),
}


@pytest.mark.parametrize(("job", "queue", "why"), CASES.values(), ids=CASES)
def test_why_it_waits(job: dict[str, Any], queue: QueueStatus, why: str) -> None:
    assert queue_view.why(replace(WAITS, **job), THERE, [queue]) == why


def test_one_node_is_in_the_singular() -> None:
    there = replace(THERE, up=ResourceSubset((0,), ("a",), cores=2))
    assert queue_view.why(WAITS, there, [STARTED]).endswith("1 of 2 cores on 1 node are free")


WAITING = {
    "id": "f1",
    "tasks": 1,
    "nodes": None,
    "time": "3s",
    "queue": "",
    "name": "sleep\x1b[2J",
    "why": "held",
}
VIEW = QueueView(
    {"flux_nodes_demanded": 3.0, "flux_jobs_pending": 1.0, "flux_oldest_wait_seconds": 2.54},
    {"run": 2, "sched": 1, "inactive": 0},
    (WAITING,),
    1_700_000_000.0,
)
SCREEN = top.Screen(ClusterSample({"name": "mc"}, people={"autoscaler": "mc asks for 3"}), VIEW)


def test_a_screen_is_drawn_with_what_waits() -> None:
    """Whatever a job's name is made of, the terminal is safe."""
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(top._drawn(SCREEN))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert {"name mc", "autoscaler mc asks for 3", "nodes demanded 3", "jobs 2 run, 1 sched"} <= set(lines)
    assert "f1 1 3s sleep\\x1b[2J held" in lines
    assert "\x1b" not in text


def test_programs_get_all_of_it() -> None:
    document = SCREEN.as_json
    assert (document["time"], document["nodes_demanded"], document["oldest_wait"]) == (
        1_700_000_000.0,
        3,
        2.5,
    )
    assert (document["jobs"], document["waiting"]) == ({"run": 2, "sched": 1, "inactive": 0}, [WAITING])
