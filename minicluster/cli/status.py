"""The commands list and status."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, named
from minicluster.cli.tables import Format, OutputOption, age, json_text, show, show_fields

if TYPE_CHECKING:
    from minicluster.backends.port import Backend
    from minicluster.backends.records import ClusterSummary, StatusReport, StatusTable
    from minicluster.cli.queue_view import QueueView

app = typer.Typer(add_completion=False)
INTERVAL = 2.0
"""Seconds between two looks for a change."""
ENDED = {"Succeeded", "Failed"}
BY_THE_CLOCK = {"age", "time", "oldest_wait"}
"""Keys of the JSON output."""
BURST_COLUMNS = ("id", "slot", "provider", "state", "nodes", "until", "cost")


@app.command(name="list", cls=BackendCommand)
def list_(ctx: typer.Context, output: OutputOption = "table") -> None:
    """List the clusters of this machine that are yours, runs in the foreground included; or a namespace's.

    minicluster list --output json

    minicluster list --on kubernetes --all-namespaces
    """
    found = chosen(ctx).clusters()
    show([_row(each) for each in found.clusters], found.columns, output, found.empty)


@app.command(cls=BackendCommand)
def status(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    output: OutputOption = "table",
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show it again whenever it has changed, until Ctrl-C.")
    ] = False,
) -> None:
    """Show how a cluster is: brokers, jobs, what runs, what waits and why, how many nodes all that demands.

    On Kubernetes also its conditions, its autoscaler and the latest Events. What the queue says is asked of
    its lead broker with your own rights (pods/exec); without them the rest is shown.

    minicluster status mc --output json

    minicluster status mc --on kubernetes -n research --watch

    --watch also ends once the cluster has ended; with --output json each state is a line. What runs and waits
    from second to second shows `minicluster top`.
    """
    backend = chosen(ctx)
    cluster = named(backend, name)
    if not watch:
        report, queue = _seen(backend, cluster)
        _show(report, queue, output)
        return
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        _watch(backend, chosen(ctx, quiet=True), cluster, output)


def _watch(backend: Backend, quiet: Backend, cluster: str, output: Format) -> None:
    """Show a cluster each time it has changed, until it has ended; what `backend` notices once is enough."""
    shown: object = None
    while True:
        report, queue = _seen(backend if shown is None else quiet, cluster)
        state = _without_ages(_as_json(report, queue))
        if state != shown and output == "json":
            typer.echo(json_text(_as_json(report, queue)))
        elif state != shown:
            typer.echo(("" if shown is None else "\n") + time.strftime("%H:%M:%S"))
            _show(report, queue, output)
        shown = state
        if report.cluster.phase in ENDED:
            return
        time.sleep(INTERVAL)


def _without_ages(found: object) -> object:
    """Return the same without what changes by the clock alone."""
    if isinstance(found, dict):
        return {key: _without_ages(each) for key, each in found.items() if key not in BY_THE_CLOCK}
    return [_without_ages(each) for each in found] if isinstance(found, (list, tuple)) else found


def _seen(backend: Backend, cluster: str) -> tuple[StatusReport, QueueView | None]:
    from minicluster.cli import cluster_bursts, queue_view

    once = functools.partial(queue_view.once, bursts=cluster_bursts.reader(backend, cluster))
    return backend.status(cluster, once)


def _show(report: StatusReport, queue: QueueView | None, output: Format) -> None:
    from minicluster.cli import queue_view

    if output == "json":
        show([_as_json(report, queue)], (), output)
        return
    show_fields(queue_view.for_people(_fields(report, queue)) | dict(report.people))
    first = [each for each in report.tables if not each.title]
    for table in first:
        typer.echo("")
        show(_rows(table), table.columns, output, table.empty)
    if queue:
        queue_view.show_jobs(queue_view.tables(queue))
    if report.bursts:
        typer.echo("\nbursts:")
        show([dataclasses.asdict(each) for each in report.bursts], BURST_COLUMNS, output)
    for table in report.tables:
        if table.title and table.rows:
            typer.echo(f"\n{table.title}")
            show(_rows(table), table.columns, output)


def _as_json(report: StatusReport, queue: QueueView | None) -> dict[str, Any]:
    """Return a status for the JSON output."""
    return {
        **_fields(report, queue),
        "created": report.cluster.created,
        **report.programs,
        **{table.name: _rows(table) for table in report.tables},
        "bursts": [dataclasses.asdict(each) for each in report.bursts],
        "waiting": list(queue.waiting) if queue else None,
        "running": list(queue.running) if queue else None,
    }


def _fields(report: StatusReport, queue: QueueView | None) -> dict[str, Any]:
    known = {**_row(report.cluster), **report.values, **(queue.row if queue else {})}
    return {name: known[name] for name in report.order if name in known}


def _row(found: ClusterSummary) -> dict[str, Any]:
    return {
        "name": found.name,
        **found.more,
        "size": found.size,
        "max_size": found.max_size,
        "phase": found.phase,
        "created": found.created or None,
        "age": age(time.time() - found.created) if found.created else "",
    }


def _rows(table: StatusTable) -> list[dict[str, Any]]:
    """Return the rows of a table, with their age where the table has a field with their time."""
    if not table.since:
        return [dict(row) for row in table.rows]
    return [{**row, "age": _age(row[table.since])} for row in table.rows]


def _age(since: float | None) -> str:
    return "" if since is None else age(time.time() - since)
