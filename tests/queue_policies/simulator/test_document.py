"""Workloads as JSON documents."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.speedup import Fixed, Table
from queue_policies.simulator.workloads import apgas, catalogue, document

if TYPE_CHECKING:
    from pathlib import Path

JOB = {"id": 1, "submitted": 0, "min": 2, "time": {"model": "fixed", "time": 10}}
DOCUMENT: dict[str, Any] = {"total": 8, "jobs": [JOB]}


@pytest.mark.parametrize(
    "word", ["charm", "apgas:share=0.4", "lublin:jobs=30,elastic=0.5", "elastisim:days=1"]
)
def test_what_was_written_is_read_as_it_was(word: str) -> None:
    workload = catalogue.load(word, 1)
    again = document.parse(document.write(workload), "again")
    assert again == replace(workload, name="again")


def test_only_what_has_no_default_is_needed() -> None:
    workload = document.parse(json.dumps(DOCUMENT), "d.json")
    (job,) = workload.jobs
    assert (workload.total, workload.unit, workload.tick, workload.cost.release) == (8, "nodes", 0, 0)
    assert (job.max, job.time, job.malleable) == (2, Fixed(10), False)


def test_points_are_sorted_and_another_size_stands_for_its_own(tmp_path: Path) -> None:
    rows = {"model": "table", "rows": [[4, 6], [2, 10]]}
    (tmp_path / "d.json").write_text(json.dumps({"total": 8, "jobs": [JOB | {"time": rows}]}))
    workload = document.read(str(tmp_path / "d.json"), 16)
    assert workload.jobs[0].time == Table(((2, 10.0), (4, 6.0)))
    assert workload.total == 16


def _jobs(**changed: Any) -> dict[str, Any]:
    return DOCUMENT | {"jobs": [JOB | changed]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], 'd: needed is an object with "total" and a list "jobs"'),
        ({"jobs": [JOB]}, "d: total is missing"),
        ({"total": "8", "jobs": [JOB]}, "d: total is '8'; needed is a number"),
        (DOCUMENT | {"jobs": [7]}, "d, jobs[0]: needed is an object, not 7"),
        (_jobs(mni=3), "d, jobs[0]: unknown 'mni'; known are id, submitted, min, max, time, limit, priority"),
        (DOCUMENT | {"jobs": [{"id": 1, "submitted": 0, "min": 1}]}, "d, jobs[0]: time is missing"),
        (_jobs(min=1.5), "d, jobs[0].min: 1.5; needed is a whole number"),
        (_jobs(id=True), "d, jobs[0].id: True; needed is a whole number"),
        (_jobs(submitted=None), "d, jobs[0]: submitted is missing"),
        (_jobs(submitted="now"), "d, jobs[0]: submitted is 'now'; needed is a number"),
        (_jobs(limit=float("nan")), "d, jobs[0]: limit is nan; needed is a number"),
        (_jobs(time=3), 'd, jobs[0].time: needed is an object with "model", one of fixed, amdahl'),
        (_jobs(time={"model": "magic"}), 'd, jobs[0].time: needed is an object with "model", one of fixed'),
        (_jobs(time={"model": "amdahl", "serial": 9}), "d, jobs[0].time: parallel is missing"),
        (
            _jobs(time={"model": "fixed", "time": "x"}),
            "d, jobs[0].time.time: value is 'x'; needed is a number",
        ),
        (
            _jobs(time={"model": "table", "rows": [[1]]}),
            "d, jobs[0].time.rows: needed are pairs [size, seconds]",
        ),
        (DOCUMENT | {"cost": {"model": "free", "blok": 1}}, "d, cost: unknown 'blok'; known are release"),
        (_jobs(min=9, max=9), "d: job 1: needs 9 units, and the cluster has 8"),
    ],
)
def test_a_bad_document_is_refused_with_the_position(content: Any, message: str) -> None:
    with pytest.raises(WorkloadError) as error:
        document.parse(json.dumps(content), "d")
    assert str(error.value).startswith(message)


def test_what_is_no_json_or_no_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="d: this is no JSON: Expecting value"):
        document.parse("nope", "d")
    with pytest.raises(WorkloadError, match=r"none\.json: No such file or directory"):
        document.read(str(tmp_path / "none.json"))


def test_a_cost_may_block() -> None:
    workload = apgas.workload(42, 1.0, blocking=True)
    assert document.parse(document.write(workload), "d").cost == workload.cost
