"""`minicluster simulate`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from minicluster.cli import simulation_options as simulation
from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.reporting import print_warning
from minicluster.cli.tables import Output, show

if TYPE_CHECKING:
    from queue_policies.simulator.experiment import SimulationRun
    from queue_policies.simulator.workload import Workload

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


@app.command(cls=BackendCommand)
def simulate(  # noqa: PLR0913, PLR0917 - an option each
    ctx: typer.Context,
    policy: simulation.Policies,
    workload: simulation.Word = "",
    source: simulation.Source = "",
    seeds: simulation.Seeds = 1,
    first_seed: simulation.FirstSeed = 0,
    size: simulation.Size = 0,
    estimates: simulation.Estimates = "told",
    error: simulation.Error = 0.0,
    refusals: simulation.Refusals = 0.0,
    mtbf: simulation.Mtbf = 0.0,
    repair: simulation.Repair = 3600.0,
    checkpoint: simulation.Checkpoint = 0.0,
    preempting: simulation.Preempting = 0.0,
    restart: simulation.Restart = 0.0,
    jobs: simulation.Jobs = 0,
    report: simulation.Report = "",
    csv: simulation.Csv = "",
    parquet: simulation.Parquet = "",
    output: Output = "table",
) -> None:
    """Simulate queue policies on a workload, and compare them; means over the seeds, times in seconds.

    minicluster simulate --workload charm:gap=90 --policy moldable --policy priority-elastic --seeds 20

    minicluster simulate --workload trace.swf --policy fcfs --policy easy --report out.html

    minicluster simulate --from mc --size 64 --policy easy --policy water-filling

    minicluster policies
    """
    _check_asked(workload, source, seeds)
    from queue_policies.simulator import experiment
    from queue_policies.simulator.failure import Failures
    from queue_policies.simulator.simulation_options import Preemption

    plan = experiment.Experiment(
        workload,
        tuple(dict.fromkeys(policy)),
        tuple(range(first_seed, first_seed + seeds)),
        total=size,
        known=estimates == "told",
        error=error,
        learned=estimates == "learned",
        refusals=refusals,
        failures=Failures(mtbf, repair, checkpoint, restart) if mtbf else None,
        preemption=Preemption(preempting, restart),
        workload=_history(ctx, source, size) if source else None,
    )
    _check_policies(plan.policies)
    with _progress(len(plan.seeds) * len(plan.policies)) as progress:
        runs = experiment.run(plan, jobs, progress)
    _write(runs, csv, parquet, report)
    _show(runs, output)


def _check_asked(workload: str, source: str, seeds: int) -> None:
    """Raise BadParameter unless one set of jobs, or one generator of them, is asked for."""
    from queue_policies.simulator.workloads import catalogue

    if bool(workload) == bool(source):
        raise typer.BadParameter("give one of them", param_hint="--workload or --from")
    if (source or catalogue.is_file(workload)) and seeds > 1:
        raise typer.BadParameter(
            "a file or a history is one set of jobs, whatever the seed", param_hint="--seeds"
        )


def _history(ctx: typer.Context, source: str, size: int) -> Workload:
    """Return the history of a cluster, or of a dump, as a workload."""
    from pathlib import Path

    from minicluster.cli import history

    if "/" in source or Path(source).is_file():
        return history.workload(history.of_dump(source), size, source)
    past, cores = chosen(ctx).ask(source, history.of_instance)
    return history.workload(past, size or cores, source)


def _check_policies(words: Sequence[str]) -> None:
    """Warn of policies that are passed over. Raises PolicyError where `words` has one of them."""
    from queue_policies import plugins

    registry = plugins.registry()
    for word in words:
        registry.kind(word.partition(":")[0])
    for text in registry.warnings:
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


def _show(runs: Sequence[SimulationRun], output: Output) -> None:
    """Show a row a run as JSON, or the means of each policy in a table."""
    from queue_policies.simulator import listing

    if output == "json":
        show(list(listing.run_rows(runs)), (), output)
    else:
        show(_rows(runs), COLUMNS, output)


def _rows(runs: Sequence[SimulationRun]) -> list[dict[str, Any]]:
    from queue_policies.simulator import experiment

    return [
        {"policy": policy}
        | {
            name: f"{value:.1%}"
            if name == "utilization"
            else f"{value:.2f}"
            if value < 100
            else f"{value:.1f}"
            for name, value in means.items()
        }
        for policy, means in experiment.means(runs).items()
    ]


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int, int], None] | None]:
    """Yield the callback of a progress bar on standard error; None for a single run or without a terminal."""
    if total == 1 or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, _total: bar.update(task, completed=done)
