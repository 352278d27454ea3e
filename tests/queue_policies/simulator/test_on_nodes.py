"""Workloads on nodes: from documents, by options, and what is read off them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queue_policies import plugins
from queue_policies.placement.low_rank import LowRank
from queue_policies.placement.records import Affinity, Profile, ProfileKind, TaskShape
from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.experiment import Experiment, run
from queue_policies.simulator.listing import cores_of
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import measure
from queue_policies.simulator.on_nodes import AlikeNodes, on_nodes
from queue_policies.simulator.report.gantt import lanes, rectangles
from queue_policies.simulator.workloads import catalogue, document

DOCUMENT: dict[str, Any] = {
    "nodes": {"count": 2, "domains": 2, "cores": 4},
    "contention": {"knee": 2, "slope": 0.5, "kinds": {"S": {"compute": 60, "memory": 40, "demand": 1}}},
    "cost": {"model": "per-worker", "starts": [[1, 4], [4, 7]], "release": 3},
    "jobs": [
        {
            "id": 1,
            "submitted": 0,
            "min": 4,
            "kind": "S",
            "profile": "memory",
            "workers": 4,
            "affinity": "required",
            "time": {"model": "fixed", "time": 100},
        }
    ],
}


def changed(*keys: str, to: Any) -> str:
    """The document with another value at these keys."""
    found = json.loads(json.dumps(DOCUMENT))
    row = found
    for key in keys[:-1]:
        row = row[int(key)] if key.isdigit() else row[key]
    row[keys[-1]] = to
    return json.dumps(found)


def test_a_document_has_nodes_contention_and_shapes() -> None:
    workload = document.parse(json.dumps(DOCUMENT), "d")
    assert (workload.total, len(workload.nodes)) == (16, 2)
    assert workload.jobs[0].shape == TaskShape(Profile(ProfileKind.MEMORY), 0, 4, Affinity.REQUIRED)
    (job,) = simulate(workload, plugins.load("fcfs")).jobs
    assert job.ended == 7 + 60 + 40 * (1 + 0.5 * 2)  # its four tasks fill the first domain


def test_a_job_keeps_its_shape_through_a_document() -> None:
    workload = document.parse(json.dumps(DOCUMENT), "d")
    assert json.loads(document.write(workload))["jobs"][0]["profile"] == "memory"
    again = document.parse(document.write(catalogue.load("charm")), "again")
    assert again.jobs == catalogue.load("charm").jobs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("nodes", "domains", to=0), "d, nodes: domains is 0; needed is a whole number from 1 on"),
        (changed("nodes", "core", to=1), "d, nodes: unknown 'core'; did you mean 'cores'?"),
        (changed("nodes", to=4), 'd, nodes: needed is an object with "count", "domains" and "cores"'),
        (
            changed("total", to=4),
            "d: a total of 4 units, and its nodes have 16 cores; other nodes are given by",
        ),
        (changed("jobs", "0", "profile", to="memry"), "jobs[0].profile: 'memry'; did you mean 'memory'?"),
        (changed("jobs", "0", "affinity", to="x"), "affinity: 'x'; known are none, best-effort, required"),
        (changed("jobs", "0", "workers", to=-1), "workers: -1; needed is a whole number from 0 on"),
        (changed("contention", "kinds", to=1), 'needed is an object with "knee", "slope" and "kinds"'),
        (changed("contention", "knee", to=-1), "d, contention: knee is -1; needed is a number from 0 on"),
        (changed("contention", "kinds", "S", to={}), "d, contention.kinds.S: compute is missing"),
        (changed("contention", "kinds", "S", to=1), "d, contention.kinds.S: needed is an object, not 1"),
        (
            changed("contention", "kinds", "S", "by_worker", to=[1]),
            "kinds.S.by_worker: needed are pairs [tasks of a worker, factor]",
        ),
    ],
)
def test_what_a_document_cannot_have_is_named(text: str, message: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        document.parse(text, "d")
    assert message in str(caught.value)


def test_contention_needs_nodes() -> None:
    text = json.dumps({name: value for name, value in DOCUMENT.items() if name != "nodes"} | {"total": 4})
    with pytest.raises(WorkloadError, match='d, contention: there are no domains without "nodes"'):
        document.parse(text, "d")


def test_any_workload_runs_on_nodes(kit: Any) -> None:
    workload = on_nodes(kit.workload(kit.rigid(1, 6, 5.0)), AlikeNodes(2, 2, 2), LowRank())
    outcome = simulate(workload, plugins.load("fcfs"))
    assert (len(outcome.nodes), outcome.total) == (2, 8)
    assert (measure(outcome).nodes, measure(outcome).domains) == (2, 3)


def test_a_workload_keeps_of_its_nodes_what_is_not_given() -> None:
    workload = on_nodes(catalogue.load("scanflow"), AlikeNodes(domains=4), None)
    assert (workload.total, len(workload.nodes), len(workload.nodes[0].domains)) == (256, 4, 4)
    assert simulate(workload, plugins.load("backfill")).last_end > 1000


@pytest.mark.parametrize(
    ("nodes", "placement", "message"),
    [
        (
            AlikeNodes(),
            LowRank(),
            "test: its units are only counted, so there is nothing to choose; --nodes and",
        ),
        (AlikeNodes(2), None, "test: has no nodes of its own; --cores is missing"),
        (AlikeNodes(cores=2), None, "test: has no nodes of its own; --nodes is missing"),
    ],
)
def test_counted_units_have_no_placement(
    kit: Any, nodes: AlikeNodes, placement: LowRank | None, message: str
) -> None:
    with pytest.raises(WorkloadError, match=message):
        on_nodes(kit.workload(kit.rigid(1, 1, 5.0)), nodes, placement)


def test_an_experiment_takes_nodes_and_a_placement() -> None:
    plan = Experiment("charm", ("backfill",), nodes=AlikeNodes(4, 1, 15), placement="spread")
    (one,) = run(plan, processes=1)
    assert one.metrics.nodes > 1


def test_cores_are_written_by_rank() -> None:
    assert cores_of({1: (0b1011, 0), 0: (0b1, 0)}) == "0:0 1:0-1,3"


@pytest.mark.parametrize("variant", catalogue.CHOICES["variant"])
def test_every_variant_of_the_paper_runs(variant: str) -> None:
    outcome = simulate(catalogue.load(f"scanflow:variant={variant},experiment=0"), plugins.load("backfill"))
    assert {job.end for job in outcome.jobs} == {"completed"}


def test_an_unknown_variant_is_named() -> None:
    with pytest.raises(WorkloadError, match="setting 'variant=cm_tg'; did you mean 'CM_G'"):
        catalogue.load("scanflow:variant=cm_tg")


def test_the_chart_has_a_lane_a_domain_and_jobs_where_they_ran(kit: Any) -> None:
    """Job 2 gets what job 1 leaves: the last core of the first node, and one of the second."""
    workload = on_nodes(
        kit.workload(kit.rigid(1, 3, 5.0), kit.rigid(2, 2, 4.0)), AlikeNodes(2, 2, 2), LowRank()
    )
    outcome = simulate(workload, plugins.load("fcfs"))
    assert [(lane.host, lane.number, lane.first, len(lane.cores)) for lane in lanes(outcome)] == [
        ("node0", 0, 0, 2),
        ("node0", 1, 2, 2),
        ("node1", 0, 4, 2),
        ("node1", 1, 6, 2),
    ]
    assert rectangles(outcome, 9) == [(0.0, 5.0, 0, 3, 0), (0.0, 4.0, 3, 2, 1)]
    assert rectangles(outcome, 1) == [(0.0, 5.0, 0, 3, 0)]


def test_counted_units_have_no_lanes(kit: Any) -> None:
    assert lanes(simulate(kit.workload(kit.rigid(1, 3, 5.0)), plugins.load("fcfs"))) == []
