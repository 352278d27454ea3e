"""Results as rows, one for each run, policy or job, and as CSV and Parquet files."""

from __future__ import annotations

import csv
import dataclasses
import importlib
from itertools import groupby, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queue_policies.nodes.slots import ids
from queue_policies.simulator.errors import OutputError
from queue_policies.simulator.experiment import spreads
from queue_policies.simulator.spread import interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queue_policies.nodes.records import Allocation
    from queue_policies.simulator.experiment import SimulationRun

ON_NODES = ("nodes", "domains")
"""Metrics of runs on nodes: rows of counted units are those of release 0.1.0."""
JOB_COLUMNS = (
    "workload", "policy", "seed", "job", "kind", "user", "priority", "submitted", "started", "ended", "end",
    "wait", "turnaround", "first_size", "last_size", "unit_seconds", "grows", "shrinks", "refusals",
    "restarts", "preemptions", "idle", "min", "max", "malleable", "limit",
    "cores",
)  # fmt: skip


def run_rows(runs: Sequence[SimulationRun]) -> Iterator[dict[str, Any]]:
    """Yield a row for each run: workload, policy, seed, and every metric; ON_NODES where it has nodes."""
    for run in runs:
        metrics = dataclasses.asdict(run.metrics)
        if not run.outcome.nodes:
            metrics = {name: value for name, value in metrics.items() if name not in ON_NODES}
        yield {
            "workload": run.outcome.workload,
            "policy": run.policy,
            "seed": run.seed,
            "decisions": run.outcome.decisions,
        } | metrics


def policy_rows(runs: Sequence[SimulationRun]) -> Iterator[dict[str, Any]]:
    """Yield a row for each policy: its seeds, and the spread of every metric over them."""
    for policy, metrics in spreads(runs).items():
        seeds = [run.seed for run in runs if run.policy == policy]
        yield {"policy": policy, "seeds": seeds} | {
            name: {
                "mean": each.mean,
                "deviation": each.deviation,
                **dict(zip(("low", "high"), interval(name, each), strict=True)),
            }
            for name, each in metrics.items()
        }


def job_rows(runs: Sequence[SimulationRun]) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each job of each run: JOB_COLUMNS."""
    for run in runs:
        workload, policy, seed = run.outcome.workload, run.policy, run.seed
        allocations = run.outcome.allocations or repeat((), len(run.outcome.jobs))
        rows = zip(run.outcome.jobs, run.outcome.requested, allocations, strict=True)
        for job, requested, allocated in rows:
            yield (
                workload, policy, seed, job.id, job.kind, job.user, job.priority, job.submitted, job.started,
                job.ended, job.end, job.wait, job.turnaround, job.sizes[0][1], job.sizes[-2][1],
                job.unit_seconds(), job.grows, job.shrinks, job.refusals, job.restarts, job.preemptions,
                job.idle, *requested, cores_of(allocated[0][1]) if allocated else "",
            )  # fmt: skip


def cores_of(allocation: Allocation) -> str:
    """Return cores as `RANK:IDS`, such as `0:0-3,16 1:0-3`."""
    return " ".join(f"{rank}:{_ranges(cores)}" for rank, (cores, _) in sorted(allocation.items()))


def _ranges(bits: int) -> str:
    """Return the numbers of the bits that are set, as ranges."""
    found = []
    for _, members in groupby(enumerate(ids(bits)), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in members]
        found.append(f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}")
    return ",".join(found)


def write_csv(path: str, runs: Sequence[SimulationRun]) -> None:
    """Write a row for each job. Raises OutputError."""
    try:
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(JOB_COLUMNS)
            writer.writerows(job_rows(runs))
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from error


def write_parquet(path: str, runs: Sequence[SimulationRun]) -> None:
    """Write a row for each job. Raises OutputError, also if pyarrow is not installed."""
    pyarrow, parquet = arrow(path)
    columns = dict(zip(JOB_COLUMNS, zip(*job_rows(runs), strict=True), strict=True))
    try:
        with Path(path).open("wb") as file:
            parquet.write_table(pyarrow.table(columns), file)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from error


def arrow(path: str) -> tuple[Any, Any]:
    """Return the modules that write Parquet. Raises OutputError where they are not installed."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise OutputError(
            f"{path}: writing Parquet needs pyarrow, which is not installed: "
            "pip install '.[parquet]' in a checkout of minicluster"
        ) from error
