"""Workloads as JSON documents, read and written.

{"name": "two", "total": 8, "unit": "nodes",
 "cost": {"model": "per-unit", "grow": 3.75, "shrink": 2.91, "release": 2},
 "jobs": [{"id": 1, "submitted": 0, "min": 2, "max": 8, "malleable": true, "limit": 800,
           "time": {"model": "amdahl", "serial": 3600, "parallel": 0.98}}]}

`node_document` has what may be there of nodes.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queue_policies.simulator import cost, speedup
from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.workload import Oversized, Workload, fitted
from queue_policies.simulator.workloads import node_document

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

TIMES: Mapping[str, type[Any]] = {
    "fixed": speedup.Fixed,
    "amdahl": speedup.Amdahl,
    "hyperbolic": speedup.Hyperbolic,
    "piecewise-linear": speedup.PiecewiseLinear,
    "table": speedup.Table,
}
COSTS: Mapping[str, type[Any]] = {
    "free": cost.Cost,
    "relaunch": cost.Relaunch,
    "per-unit": cost.PerUnit,
    "per-worker": cost.PerWorker,
}


def read(path: str, total: int = 0, oversized: Oversized = "refuse") -> Workload:
    """Read a document; a `total` other than 0 replaces its own. Raises WorkloadError for a wrong field."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise WorkloadError(f"{path}: {error.strerror or error}") from error
    return parse(text, path, total, oversized)


def parse(text: str, source: str, total: int = 0, oversized: Oversized = "refuse") -> Workload:
    """Return the workload of a document's text."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise WorkloadError(f"{source}: this is no JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise WorkloadError(f'{source}: needed is an object with "total" and a list "jobs"')
    jobs = [_job(each, f"{source}, jobs[{index}]") for index, each in enumerate(document["jobs"])]
    nodes = node_document.nodes_of(document["nodes"], f"{source}, nodes") if "nodes" in document else ()
    cores = sum(node.cores.bit_count() for node in nodes)
    total = total or int(_number(document, "total", source, float(cores) if cores else None))
    model = document.get("contention")
    return Workload(
        source,
        fitted(jobs, total, oversized),
        total,
        str(document.get("unit", "nodes")),
        _made(document["cost"], COSTS, f"{source}, cost") if "cost" in document else cost.Cost(),
        _number(document, "tick", source, 0.0),
        node_document.contention_of(model, nodes, f"{source}, contention") if model is not None else None,
        nodes,
    )


def write(workload: Workload) -> str:
    """Return the text of a document with this workload."""
    document = {
        "name": workload.name,
        "total": workload.total,
        "unit": workload.unit,
        "tick": workload.tick,
        "cost": _tagged(workload.cost, COSTS),
        "jobs": [_job_row(job) for job in workload.jobs],
    }
    return json.dumps(document, indent=1)


def _job_row(job: WorkloadJob) -> dict[str, Any]:
    row = job._asdict()
    row["time"] = _tagged(job.time, TIMES)
    del row["shape"]
    row |= node_document.shape_row(job.shape)
    if math.isinf(job.limit):
        del row["limit"]
    return row


def _tagged(record: Any, kinds: Mapping[str, type[Any]]) -> dict[str, Any]:
    name = next(name for name, kind in kinds.items() if type(record) is kind)
    return {"model": name} | {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def _job(row: Any, field_path: str) -> WorkloadJob:
    if not isinstance(row, dict):
        raise WorkloadError(f"{field_path}: needed is an object, not {row!r}")
    fields = (*(name for name in WorkloadJob._fields if name != "shape"), *node_document.OF_A_JOB)
    _refuse_unknown(row, fields, field_path)
    for name in ("id", "submitted", "min", "time"):
        if name not in row:
            raise WorkloadError(f"{field_path}: {name} is missing")
    values = {name: value for name, value in row.items() if name not in node_document.OF_A_JOB}
    values["shape"] = node_document.shape_of(row, field_path)
    values["time"] = _made(row["time"], TIMES, f"{field_path}.time")
    values.setdefault("max", row["min"])
    for name in ("id", "min", "max", "priority", "user"):
        if name in values and (not isinstance(values[name], int) or isinstance(values[name], bool)):
            raise WorkloadError(f"{field_path}.{name}: {values[name]!r}; needed is a whole number")
    for name in ("submitted", "limit", "redistribution"):
        if name in values:
            values[name] = _number(values, name, field_path)
    return WorkloadJob(**values)


def _made(row: Any, kinds: Mapping[str, type[Any]], field_path: str) -> Any:
    kind = kinds.get(str(row.get("model"))) if isinstance(row, dict) else None
    if kind is None:
        raise WorkloadError(f'{field_path}: needed is an object with "model", one of {", ".join(kinds)}')
    fields = {field.name: field for field in dataclasses.fields(kind)}
    settings = {name: value for name, value in row.items() if name != "model"}
    _refuse_unknown(settings, fields, field_path)
    for name, field in fields.items():
        if name not in settings and field.default is dataclasses.MISSING:
            raise WorkloadError(f"{field_path}: {name} is missing")
    return kind(**{name: _value(value, f"{field_path}.{name}") for name, value in settings.items()})


def _value(value: Any, field_path: str) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        if not value or not all(
            isinstance(row, list) and len(row) == 2 and all(_is_number(each) for each in row) for row in value
        ):
            raise WorkloadError(f"{field_path}: needed are pairs [size, seconds]")
        return tuple((int(size), float(seconds)) for size, seconds in sorted(value))
    return _number({"value": value}, "value", field_path)


def _number(row: Mapping[str, Any], name: str, field_path: str, default: float | None = None) -> float:
    value = row.get(name, default)
    if value is None:
        raise WorkloadError(f"{field_path}: {name} is missing")
    if not _is_number(value):
        raise WorkloadError(f"{field_path}: {name} is {value!r}; needed is a number")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _refuse_unknown(row: Mapping[str, Any], known: Collection[str], field_path: str) -> None:
    for name in row:
        if name not in known:
            raise WorkloadError(f"{field_path}: unknown {name!r}; known are {', '.join(known)}")
