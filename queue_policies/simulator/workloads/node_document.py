"""What JSON documents of workloads have of nodes: their number, contention in their domains, shapes of tasks.

{"nodes": {"count": 4, "domains": 2, "cores": 16},
 "contention": {"knee": 5, "slope": 0.3, "unpinned": 1.4,
                "kinds": {"STREAM": {"compute": 100, "memory": 85, "demand": 1}}},
 "jobs": [{"id": 1, …, "kind": "STREAM", "profile": "memory", "workers": 4, "affinity": "best-effort"}]}
"""

from __future__ import annotations

import dataclasses
import difflib
from typing import TYPE_CHECKING, Any

from queue_policies.placement.records import Affinity, Profile, ProfileKind, TaskShape
from queue_policies.simulator.domain_contention import DomainContention, KindOfJob
from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.node_cluster import SimulatedNode, alike, domains_of_all

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

OF_A_JOB = ("profile", "workers", "affinity")
"""The fields of a job from which its shape is made."""


def nodes_of(row: Any, field_path: str) -> tuple[SimulatedNode, ...]:
    """Return the nodes that a document describes. Raises WorkloadError."""
    counts = {name: _count(row, name, field_path) for name in ("count", "domains", "cores")}
    return alike(counts["count"], counts["domains"], counts["cores"])


def contention_of(row: Any, nodes: Sequence[SimulatedNode], field_path: str) -> DomainContention:
    """Return the model of contention that a document describes, on these nodes. Raises WorkloadError."""
    if not isinstance(row, dict) or not isinstance(row.get("kinds"), dict):
        raise WorkloadError(f'{field_path}: needed is an object with "knee", "slope" and "kinds"')
    if not nodes:
        raise WorkloadError(f'{field_path}: there are no domains without "nodes"')
    known(row, ("knee", "slope", "unpinned", "kinds"), field_path)
    kinds = {name: _kind(each, f"{field_path}.kinds.{name}") for name, each in row["kinds"].items()}
    knee, slope = _number(row, "knee", field_path), _number(row, "slope", field_path)
    unpinned = _number(row, "unpinned", field_path, 1.0)
    return DomainContention(kinds, domains_of_all(nodes), knee, slope, unpinned)


def shape_of(row: Mapping[str, Any], field_path: str) -> TaskShape | None:
    """Return the shape of a job's tasks, None: the document says nothing of it. Raises WorkloadError."""
    if not any(name in row for name in OF_A_JOB):
        return None
    profile = row.get("profile")
    affinity = row.get("affinity")
    workers = row.get("workers", 0)
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 0:
        raise WorkloadError(f"{field_path}.workers: {workers!r}; needed is a whole number from 0 on")
    return TaskShape(
        None if profile is None else Profile(_word(profile, ProfileKind, f"{field_path}.profile")),
        0,
        workers,
        None if affinity is None else _word(affinity, Affinity, f"{field_path}.affinity"),
    )


def shape_row(shape: TaskShape | None) -> dict[str, Any]:
    """Return the fields of a job with this shape."""
    row: dict[str, Any] = {}
    if shape is not None:
        if shape.profile is not None:
            row["profile"] = shape.profile.kind.value
        if shape.workers:
            row["workers"] = shape.workers
        if shape.affinity is not None:
            row["affinity"] = shape.affinity.value
    return row


def known(row: Mapping[str, Any], names: Collection[str], field_path: str) -> None:
    """Raise WorkloadError, with the nearest name, where a row has a field that is not among these."""
    for name in row:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            more = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(names)}"
            raise WorkloadError(f"{field_path}: unknown {name!r}{more}")


def _word(value: Any, kind: Any, field_path: str) -> Any:
    words = [each.value for each in kind]
    if value not in words:
        near = difflib.get_close_matches(str(value), words, n=1, cutoff=0.5)
        more = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(words)}"
        raise WorkloadError(f"{field_path}: {value!r}; {more}")
    return kind(value)


def _kind(row: Any, field_path: str) -> KindOfJob:
    if not isinstance(row, dict):
        raise WorkloadError(f"{field_path}: needed is an object, not {row!r}")
    fields = {field.name: field for field in dataclasses.fields(KindOfJob)}
    known(row, fields, field_path)
    values: dict[str, Any] = {name: _number(row, name, field_path) for name in row if name != "by_worker"}
    if "compute" not in values:
        raise WorkloadError(f"{field_path}: compute is missing")
    pairs = row.get("by_worker", [])
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise WorkloadError(f"{field_path}.by_worker: needed are pairs [tasks of a worker, factor]")
    return KindOfJob(**values, by_worker=tuple((int(tasks), float(by)) for tasks, by in sorted(pairs)))


def _number(row: Mapping[str, Any], name: str, field_path: str, default: float | None = None) -> float:
    value = row.get(name, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
        raise WorkloadError(f"{field_path}: {name} is {value!r}; needed is a number from 0 on")
    return float(value)


def _count(row: Any, name: str, field_path: str) -> int:
    if not isinstance(row, dict):
        raise WorkloadError(f'{field_path}: needed is an object with "count", "domains" and "cores"')
    known(row, ("count", "domains", "cores"), field_path)
    value = row.get(name, 1 if name == "domains" else None)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise WorkloadError(f"{field_path}: {name} is {value!r}; needed is a whole number from 1 on")
    return value
