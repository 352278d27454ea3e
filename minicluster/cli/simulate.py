"""`minicluster simulate`."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import typer

from minicluster.cli import simulation_options as simulation
from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.reporting import print_notice, print_warning
from minicluster.cli.tables import OutputOption, show

if TYPE_CHECKING:
    from queue_policies.simulator.experiment import Experiment, SimulationRun
    from queue_policies.simulator.workload import Oversized, Workload

app = typer.Typer(add_completion=False)
COLUMNS = (
    "policy",
    "makespan",
    "utilization",
    "wait",
    "turnaround",
    "slowdown",
    "weighted_wait",
    "grows",
    "shrinks",
)
WHERE_NOT_ZERO = ("preemptions", "restarts", "timeouts", "nodes", "domains")
"""Columns that are shown where a policy has a value in them."""
FEW_SEEDS = 2
"""With so many the interval of Student's distribution tells next to nothing."""
PROGRESS_INTERVAL = 10.0
"""Seconds between two lines about the progress, where no terminal shows a bar."""


@app.command(cls=BackendCommand)
def simulate(  # noqa: PLR0913, PLR0917 - an option each
    ctx: typer.Context,
    policy: simulation.PolicyOption,
    workload: simulation.WorkloadOption = "",
    source: simulation.SourceOption = "",
    seeds: simulation.SeedsOption = 1,
    first_seed: simulation.FirstSeedOption = 0,
    size: simulation.UnitsOption = 0,
    oversized: simulation.OversizedOption = "refuse",
    nodes: simulation.SimulatedNodesOption = 0,
    domains: simulation.SimulatedDomainsOption = 0,
    cores: simulation.SimulatedCoresOption = 0,
    placement: simulation.SimulatedPlacementOption = "",
    estimates: simulation.EstimatesOption = "told",
    error: simulation.ErrorOption = 0.0,
    refusals: simulation.RefusalsOption = 0.0,
    mtbf: simulation.MtbfOption = 0.0,
    repair: simulation.RepairOption = 3600.0,
    checkpoint: simulation.CheckpointOption = 0.0,
    preempting: simulation.PreemptingOption = 0.0,
    restart: simulation.RestartOption = 0.0,
    jobs: simulation.ProcessesOption = 0,
    report: simulation.ReportOption = "",
    csv: simulation.CsvOption = "",
    parquet: simulation.ParquetOption = "",
    output: OutputOption = "table",
    rows: simulation.RowsOption = "",
) -> None:
    """Simulate queue policies on a workload, and compare them: means over the seeds and their spread, in s.

    minicluster simulate --workload charm:gap=90 --policy moldable --policy priority-elastic --seeds 20

    minicluster simulate --workload charm --policy easy --policy ./shortest.py:Shortest

    minicluster simulate --workload trace.swf --policy fcfs --policy easy --report out.html

    minicluster simulate --from mc --size 64 --policy easy --policy water-filling

    minicluster simulate --workload scanflow:variant=PLACEMENT --policy backfill --placement balanced
    """
    _check_asked(workload, source, seeds)
    from queue_policies.simulator import experiment

    past = _history(ctx, source, size, oversized)
    plan = experiment.Experiment(
        workload,
        tuple(dict.fromkeys(policy)),
        tuple(range(first_seed, first_seed + seeds)),
        total=size,
        known=estimates == "told",
        error=error,
        learned=estimates == "learned",
        refusals=refusals,
        **_faults(mtbf, repair, checkpoint, preempting, restart),
        workload=past[0],
        oversized=oversized,
        **_cluster(nodes, domains, cores, placement),
    )
    runs = _run(plan, jobs, csv, parquet, report)
    _show(runs, output, _rows(rows, output, seeds, report), past[1])


def _faults(
    mtbf: float, repair: float, checkpoint: float, preempting: float, restart: float
) -> dict[str, Any]:
    """Return how units fail, and what preempting costs."""
    from queue_policies.simulator.failure import Failures
    from queue_policies.simulator.simulation_options import Preemption

    failures = Failures(mtbf, repair, checkpoint, restart) if mtbf else None
    return {"failures": failures, "preemption": Preemption(preempting, restart)}


def _cluster(nodes: int, domains: int, cores: int, placement: str) -> dict[str, Any]:
    """Return on which nodes the workload is, and which of their cores jobs get."""
    from queue_policies.simulator.on_nodes import AlikeNodes

    return {"nodes": AlikeNodes(nodes, domains, cores), "placement": placement}


def _run(plan: Experiment, jobs: int, csv: str, parquet: str, report: str) -> list[SimulationRun]:
    """Run an experiment on so many processes, and write the files whose names are given."""
    from queue_policies.simulator import experiment

    _check(plan.policies, csv, parquet, report)
    with _progress(len(plan.seeds) * len(plan.policies)) as progress:
        runs = experiment.run(plan, jobs, progress)
    _write(runs, csv, parquet, report)
    return runs


def _check_asked(workload: str, source: str, seeds: int) -> None:
    """Raise BadParameter unless one set of jobs, or one generator of them, is asked for."""
    from queue_policies.simulator.workloads import catalogue

    if bool(workload) == bool(source):
        raise typer.BadParameter(
            "give one of them, such as --workload lublin", param_hint="--workload or --from"
        )
    if (source or catalogue.is_file(workload)) and seeds > 1:
        raise typer.BadParameter(
            "a file or a history is one set of jobs, whatever the seed", param_hint="--seeds"
        )


def _rows(
    rows: Literal["", "runs", "policies"], output: OutputOption, seeds: int, report: str
) -> Literal["runs", "policies"]:
    """Return what a row is, and warn of intervals that tell next to nothing."""
    kind = rows or ("runs" if output == "json" else "policies")
    if seeds == FEW_SEEDS and (kind == "policies" or report):
        print_warning("a 95 % interval of two seeds is very wide (12.7 standard errors): take more")
    return kind


def _history(
    ctx: typer.Context, source: str, size: int, oversized: Oversized
) -> tuple[Workload | None, dict[str, int]]:
    """Return the history of a cluster, or of a dump, as a workload; and how many jobs are left out.

    The latter is for rows in JSON; both are empty without a source.
    """
    if not source:
        return None, {}
    from pathlib import Path

    from minicluster.cli import history

    if "/" in source or Path(source).is_file():
        found = history.of_dump(source)
    else:
        found = chosen(ctx).ask(source, history.of_instance)
    if found.past and found.cores and not size:
        print_notice(
            f"simulating {source} on {found.cores} cores, all that it has now; --size takes another number"
        )
    if found.running:
        many = "jobs that still run are" if found.running > 1 else "job that still runs is"
        print_notice(f"{found.running} {many} left out")
    return history.workload(found.past, size or found.cores, source, oversized), {"left_out": found.running}


def _check(policies: Sequence[str], csv: str, parquet: str, report: str) -> None:
    """Warn of policies that are passed over. Raises PolicyError for one of those, and for a file."""
    from queue_policies import plugins
    from queue_policies.simulator import output_files
    from queue_policies.simulator.selection import policy_named

    for word in policies:
        policy_named(word)
    output_files.check(csv, parquet, report)
    for text in plugins.registry().warnings:
        print_warning(text)


def _write(runs: Sequence[SimulationRun], csv: str, parquet: str, report: str) -> None:
    """Write the files whose names are given."""
    from queue_policies.simulator import listing

    if csv:
        listing.write_csv(csv, runs)
    if parquet:
        listing.write_parquet(parquet, runs)
    if report:
        from queue_policies.simulator.report import write_report

        write_report(report, runs)


def _show(runs: Sequence[SimulationRun], output: OutputOption, rows: str, more: dict[str, int]) -> None:
    """Show a row a run, or what the runs of each policy have in common; in JSON with `more` in each."""
    from queue_policies.simulator import listing

    if output == "json":
        found = listing.run_rows(runs) if rows == "runs" else listing.policy_rows(runs)
        show([row | more for row in found], (), output)
        return
    columns = [
        *COLUMNS,
        *(name for name in WHERE_NOT_ZERO if any(getattr(run.metrics, name) for run in runs)),
    ]
    if rows == "runs":
        listed = [{**row, **_worded(row, columns)} for row in listing.run_rows(runs)]
        show(listed, (columns[0], "seed", *columns[1:]), output)
    else:
        show(list(_policy_rows(runs, columns)), columns, output)


def _policy_rows(runs: Sequence[SimulationRun], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the means of each policy; of several seeds also the deviations and the intervals."""
    from queue_policies.simulator import experiment

    several = len({run.seed for run in runs}) > 1
    for policy, metrics in experiment.spreads(runs).items():
        kinds = [(policy, "mean", "")]
        if several:
            kinds += [("  deviation", "deviation", ""), ("  95 % interval", "margin", "±")]
        for title, field, mark in kinds:
            values = {name: getattr(each, field) for name, each in metrics.items()}
            yield {"policy": title} | {name: mark + text for name, text in _worded(values, columns).items()}


def _worded(values: dict[str, Any], columns: Sequence[str]) -> dict[str, str]:
    """Return the numbers of a row as users read them."""
    return {
        name: f"{values[name]:.1%}"
        if name == "utilization"
        else f"{values[name]:.2f}"
        if values[name] < 100
        else f"{values[name]:.1f}"
        for name in columns
        if name != "policy"
    }


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int, int], None] | None]:
    """Yield the callback of a progress bar on standard error, or of lines there; None for a single run."""
    if total == 1:
        yield None
        return
    if not sys.stderr.isatty():
        yield ProgressLines(time.monotonic)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, _total: bar.update(task, completed=done)


class ProgressLines:
    """Writes the progress into a log, a line at each interval: a short simulation writes none."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._begin = self._last = clock()

    def __call__(self, done: int, total: int) -> None:
        """Write a line, if one is due."""
        now = self._clock()
        if done < total and now - self._last >= PROGRESS_INTERVAL:
            self._last = now
            left = (now - self._begin) / done * (total - done)
            print_notice(f"simulated {done} of {total} runs, about {left:.0f} s to go")
