"""`minicluster simulate`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from minicluster.cli.options import Context, Kubeconfig, Namespace, On
from minicluster.cli.tables import Output, show

if TYPE_CHECKING:
    from queue_policies.simulator.experiment import Run
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


@app.command()
def simulate(  # noqa: PLR0913, PLR0917 - an option each
    policy: Annotated[
        list[str],
        typer.Option(
            metavar="POLICY", help="With settings as in priority-elastic:gap=60; repeat it to compare."
        ),
    ],
    workload: Annotated[
        str,
        typer.Option(
            metavar="WORKLOAD",
            help="charm, apgas, elastisim or lublin, with settings as in charm:gap=180; or a file: FILE.swf,"
            " FILE.swf.gz, FILE.json.",
        ),
    ] = "",
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="NAME|DUMP",
            help="In place of --workload: the jobs that a cluster has run, or those in a dump of it.",
        ),
    ] = "",
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="So many job sets of a generator.")] = 1,
    first_seed: Annotated[int, typer.Option(min=0, metavar="SEED", help="The first of them.")] = 0,
    size: Annotated[
        int, typer.Option(min=0, metavar="UNITS", help="Another size of the cluster than the workload's.")
    ] = 0,
    estimates: Annotated[
        Literal["told", "learned", "none"],
        typer.Option(help="Whether policies are told run times, or learn them from progress."),
    ] = "told",
    error: Annotated[
        float, typer.Option(min=0, max=0.99, metavar="SHARE", help="By how much those are off, each way.")
    ] = 0.0,
    refusals: Annotated[
        float, typer.Option(min=0, max=0.99, metavar="SHARE", help="So many orders to resize are refused.")
    ] = 0.0,
    mtbf: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="A unit fails so often on average; 0: none does.")
    ] = 0.0,
    repair: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="After so long a failed unit is back.")
    ] = 3600.0,
    checkpoint: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="How often jobs save their work; 0: they begin from nothing."
        ),
    ] = 0.0,
    preempting: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="How long a job writes its work when it is preempted."),
    ] = 0.0,
    restart: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="What beginning again takes.")
    ] = 0.0,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=0, metavar="J", help="Processes; 0: one a core.")
    ] = 0,
    report: Annotated[str, typer.Option(metavar="FILE.html", help="Write a page with charts.")] = "",
    csv: Annotated[str, typer.Option(metavar="FILE.csv", help="Write a row a job.")] = "",
    parquet: Annotated[str, typer.Option(metavar="FILE.parquet", help="Write a row a job.")] = "",
    output: Output = "table",
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Simulate queue policies on a workload, and compare them; means over the seeds, times in seconds.

    minicluster simulate --workload charm:gap=90 --policy moldable --policy priority-elastic --seeds 20

    minicluster simulate --workload trace.swf --policy fcfs --policy easy --report out.html

    minicluster simulate --from mc --size 64 --policy easy --policy water-filling

    minicluster policies
    """
    if bool(workload) == bool(source):
        raise typer.BadParameter("give one of them", param_hint="--workload or --from")
    from queue_policies.simulator import experiment, listing
    from queue_policies.simulator.circumstances import Preemption
    from queue_policies.simulator.failure import Failures
    from queue_policies.simulator.workloads import catalogue

    past = _history(source, size, on, namespace, context, kubeconfig) if source else None
    if (source or catalogue.is_file(workload)) and seeds > 1:
        raise typer.BadParameter(
            "a file or a history is one set of jobs, whatever the seed", param_hint="--seeds"
        )
    numbers = tuple(range(first_seed, first_seed + seeds))
    failures = Failures(mtbf, repair, checkpoint, restart) if mtbf else None
    plan = experiment.Plan(
        workload,
        tuple(dict.fromkeys(policy)),
        numbers,
        total=size,
        known=estimates == "told",
        error=error,
        learned=estimates == "learned",
        refusals=refusals,
        failures=failures,
        preemption=Preemption(preempting, restart),
        workload=past,
    )
    with _progress(len(numbers) * len(plan.policies)) as tell:
        runs = experiment.run(plan, jobs, tell)
    if csv:
        listing.write_csv(csv, runs)
    if parquet:
        listing.write_parquet(parquet, runs)
    if report:
        from queue_policies.simulator.report import write_report

        write_report(report, runs)
    if output == "json":
        show(list(listing.run_rows(runs)), (), output)
    else:
        show(_rows(runs), COLUMNS, output)


def _history(source: str, size: int, on: str, namespace: str, context: str, kubeconfig: str) -> Workload:
    """What a cluster has run, or a dump says that it has."""
    from pathlib import Path

    from minicluster.cli import history, kubernetes_jobs
    from minicluster.cli.kubernetes import target

    if "/" in source or Path(source).is_file():
        return history.workload(history.of_dump(source), size, source)
    where = target(on, namespace, context, kubeconfig)
    if where is not None:
        past, cores = kubernetes_jobs.ask(where, source, history.of_instance)
    else:
        from minicluster.local import connection

        with connection.of(source) as instance:
            past, cores = history.of_instance(instance)
    return history.workload(past, size or cores, source)


def _rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
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
    """A bar on standard error while it takes long enough to be looked at, on a terminal only."""
    if total == 1 or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, _total: bar.update(task, completed=done)
