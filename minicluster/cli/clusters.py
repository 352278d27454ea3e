"""Clusters that stay: up, list, status, scale, logs, down."""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minicluster.cli.options import ClusterName, Document, EngineOption, Name, Size
from minicluster.cli.tables import Output, age, cell, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.instance.records import Resources
    from minicluster.local.records import ClusterState

app = typer.Typer()


@app.command()
def up(
    document: Document,
    size: Size = None,
    engine: EngineOption = "auto",
    restore: Annotated[
        str, typer.Option(metavar="DUMP", help="Begin with the jobs that `down --dump` saved.")
    ] = "",
    name: Name = "",
) -> None:
    """Bring a cluster up that stays, for jobs sent to it.

    minicluster up examples/interactive/minicluster.yaml

    minicluster up cluster.yaml --size 3 --restore saved.dump
    """
    from minicluster.cli.reporting import reporter
    from minicluster.local import documents, launch

    text = documents.read(document)
    with reporter() as told:
        called = launch.up(text, told, name=name, size=size, engine=engine, restore=restore)
    typer.echo(f"cluster {called} is up: minicluster submit {called} -- COMMAND, minicluster down {called}")


@app.command(name="list")
def list_(output: Output = "table") -> None:
    """List the clusters of this machine that are yours, runs in the foreground included.

    minicluster list --output json
    """
    from minicluster.local import state_file

    rows = [_row(state) for _, state in state_file.live_clusters()]
    show(rows, ("name", "phase", "size", "max_size", "engine", "age", "document"), output, "no cluster is up")


@app.command()
def status(name: ClusterName, output: Output = "table") -> None:
    """Show how a cluster is: brokers, jobs, queues.

    minicluster status mc --output json
    """
    from minicluster.local import connection, state_file

    _, state = state_file.need(name)
    with connection.of(name) as instance:
        brokers = [dataclasses.asdict(broker) for broker in instance.brokers()]
        stats, resources = instance.stats(), instance.resources()
    row = _row(state)
    row |= {
        "brokers_online": resources.all.nodes - resources.offline.nodes,
        "cores": resources.all.cores,
        "cores_free": resources.free.cores,
        "jobs_pending": stats.pending,
        "jobs_running": stats.running,
        "jobs_ended": stats.inactive,
    }
    if output == "json":
        show([{**row, "brokers": _with_drain(brokers, resources)}], (), output)
        return
    for key, value in row.items():
        if key != "created":  # the age says it
            typer.echo(f"{key.replace('_', ' ') + ':':<16} {cell(value)}".rstrip())
    typer.echo("")
    show(_with_drain(brokers, resources), ("rank", "state", "drained", "host"), output)


@app.command()
def scale(
    name: ClusterName, size: Annotated[int, typer.Argument(min=1, help="How many brokers there shall be.")]
) -> None:
    """Change the number of brokers while jobs run.

    The highest ranks are drained first; they leave when their jobs have ended. A job that cannot finish
    within drainTimeoutSeconds is started again elsewhere, under a new id that names the old one.

      minicluster scale mc 2
    """
    done = _order(name, {"order": "scale", "size": size})
    if done["before"] == done["size"]:
        typer.echo(f"cluster {name}: has {done['size']} brokers already")
    else:
        typer.echo(f"cluster {name}: {done['before']} → {done['size']} brokers")


@app.command()
def down(
    name: ClusterName,
    dump: Annotated[str, typer.Option(metavar="FILE", help="Save all jobs to this file first.")] = "",
) -> None:
    """End a cluster; with --dump no job is lost.

    minicluster down mc --dump saved.dump

    minicluster up cluster.yaml --restore saved.dump
    """
    from pathlib import Path

    from minicluster.local import orders

    orders.down(name, str(Path(dump).resolve()) if dump else "", _say)
    typer.echo(f"cluster {name} is down")


@app.command()
def logs(
    name: ClusterName,
    rank: Annotated[int | None, typer.Option(min=0, help="Only this broker's log.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as it grows.")] = False,
) -> None:
    """Show what the brokers, services and the supervisor wrote.

    minicluster logs mc --rank 0 --follow
    """
    from minicluster.local import logs as kept
    from minicluster.local import state_file

    directory, state = state_file.need(name)
    for line in kept.lines(directory, state, rank, follow=follow):
        sys.stdout.buffer.write(line)
        sys.stdout.flush()


def _order(name: str, message: Mapping[str, Any]) -> dict[str, Any]:
    from minicluster.local import orders

    return orders.give(name, dict(message), _say)


def _say(text: str) -> None:
    print(f"minicluster: {text}", file=sys.stderr, flush=True)


def _row(state: ClusterState) -> dict[str, Any]:
    row = dataclasses.asdict(state)
    del row["links"], row["start_time"], row["reason"]
    return {**row, "phase": state.phase.value, "age": age(time.time() - state.created)}


def _with_drain(brokers: list[dict[str, Any]], resources: Resources) -> list[dict[str, Any]]:
    drained = set(resources.drained.ranks)
    return [{**broker, "drained": broker["rank"] in drained} for broker in brokers]
