"""Clusters that stay: up, list, status, top, scale, logs, down."""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from minicluster.cli import kubernetes, tables
from minicluster.cli.kubernetes import Waiting, refuse, say, target
from minicluster.cli.options import (
    ClusterName,
    Context,
    Document,
    EngineOption,
    Kubeconfig,
    Name,
    Namespace,
    On,
    Size,
    Timeout,
    UpWait,
    Wait,
)
from minicluster.cli.tables import Output, age, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.instance.records import Resources
    from minicluster.local.records import ClusterState

app = typer.Typer()
SELF = "self"
"""The cluster that this process runs in."""
POLICY_ATTRIBUTE = "minicluster.queue-policy"
"""A broker attribute: the policy of ours that decides, where one does."""
ANY_FILE = "-"
"""What --dump without a file means: wherever the document says."""


@app.command()
def up(  # noqa: PLR0913, PLR0917 - an option each
    document: Document,
    on: On = "local",
    size: Size = None,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAME[:SETTING=VALUE,...]",
            help="Queue policy, in place of spec.flux.scheduler's; see `minicluster policies`.",
        ),
    ] = "",
    engine: EngineOption = "auto",
    restore: Annotated[
        str, typer.Option(metavar="DUMP", help="Begin with the jobs that `down --dump` saved.")
    ] = "",
    name: Name = "",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
    force: Annotated[
        bool, typer.Option("--force", help="Kubernetes: take over fields that somebody else has set.")
    ] = False,
    wait: UpWait = None,
    timeout: Timeout = None,
) -> None:
    """Bring a cluster up: on this machine for jobs sent to it, on Kubernetes to run its command.

    On Kubernetes every MiniCluster of the file is applied, or the one of --name. The exit code is 0 once all
    run (with --wait: have succeeded), else that of the main command that failed.

      minicluster up examples/interactive/minicluster.yaml

      minicluster up cluster.yaml --size 3 --restore saved.dump

      minicluster up cluster.yaml --policy priority-elastic:gap=60

      minicluster up cluster.yaml --on kubernetes -n research --wait --timeout 600
    """
    from minicluster.local import documents

    where = target(on, namespace, context, kubeconfig)
    if where is not None:
        refuse({"--engine": engine if engine != "auto" else "", "--restore": restore}, "--on local")
        text = documents.read(document)
        waiting = Waiting(wait is not False, timeout, to_the_end=wait is True)
        kubernetes.up(where, text, name, size, policy, force, waiting)
        return
    from minicluster.cli.reporting import reporter
    from minicluster.local import launch

    given = {"--force": force, "--wait": wait is True, "--no-wait": wait is False, "--timeout": timeout}
    refuse(given, "--on kubernetes")
    text = documents.read(document)
    with reporter() as told:
        called = launch.up(text, told, name=name, size=size, policy=policy, engine=engine, restore=restore)
    typer.echo(f"cluster {called} is up: minicluster submit {called} -- COMMAND, minicluster down {called}")


@app.command(name="list")
def list_(
    output: Output = "table",
    on: On = "local",
    namespace: Namespace = "",
    every_namespace: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Kubernetes: those of every namespace.")
    ] = False,
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """List the clusters of this machine that are yours, runs in the foreground included; or a namespace's.

    minicluster list --output json

    minicluster list --on kubernetes --all-namespaces
    """
    where = target(on, namespace, context, kubeconfig)
    if where is not None:
        kubernetes.list_(where, output, every_namespace=every_namespace)
        return
    from minicluster.local import state_file

    refuse({"--all-namespaces": every_namespace}, "--on kubernetes")
    rows = [_row(state) for _, state in state_file.live_clusters()]
    show(rows, ("name", "phase", "size", "max_size", "engine", "age", "document"), output, "no cluster is up")


@app.command()
def status(
    name: ClusterName,
    output: Output = "table",
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Show how a cluster is: brokers, jobs, what waits and why, how many nodes all that demands.

    On Kubernetes also its conditions, its autoscaler and the latest Events. What the queue says is asked of
    its lead broker with your own rights (pods/exec); without them the rest is shown.

    minicluster status mc --output json

    minicluster status mc --on kubernetes -n research
    """
    where = target(on, namespace, context, kubeconfig)
    if where is not None:
        kubernetes.status(where, name, output)
        return
    from minicluster.cli import queue_view
    from minicluster.local import connection, state_file

    _, state = state_file.need(name)
    with connection.of(name) as instance:
        brokers = [dataclasses.asdict(broker) for broker in instance.brokers()]
        stats, resources = instance.stats(), instance.resources()
        policy = instance.attributes().get(POLICY_ATTRIBUTE)
        queue = queue_view.once(instance, state.min_size)
    row = _row(state)
    row |= {
        "queue_policy": f"minicluster/{policy}" if policy else None,
        "brokers_online": resources.all.nodes - resources.offline.nodes,
        "nodes_demanded": queue.row["nodes_demanded"],
        "cores": resources.all.cores,
        "cores_free": resources.free.cores,
        "jobs_pending": stats.pending,
        "jobs_running": stats.running,
        "jobs_ended": stats.inactive,
        "oldest_wait": queue.row["oldest_wait"],
    }
    if output == "json":
        waiting = list(queue.waiting)
        show([{**row, "brokers": _with_drain(brokers, resources), "waiting": waiting}], (), output)
        return
    tables.show_fields({key: value for key, value in row.items() if key != "created"})  # the age says it
    typer.echo("")
    show(_with_drain(brokers, resources), ("rank", "state", "drained", "host"), output)
    queue_view.show_waiting(queue)


@app.command()
def top(  # noqa: PLR0913, PLR0917 - an option each
    name: ClusterName,
    output: Output = "table",
    once: Annotated[bool, typer.Option("--once", help="Print it once, and end.")] = False,
    interval: Annotated[float, typer.Option(min=0.2, metavar="SECONDS", help="How often to look.")] = 2.0,
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Show a cluster's queue as it changes, until Ctrl-C: size, demand, jobs, what waits and why.

    On Kubernetes also what its autoscaler asks for. With --output json a line of JSON for each look.

      minicluster top mc

      minicluster top mc --on kubernetes -n research --once --output json
    """
    from minicluster.cli import top as view

    how = view.How(output, once, interval)
    where = target(on, namespace, context, kubeconfig)
    if where is not None:
        view.on_kubernetes(where, name, how)
    else:
        view.here(name, how)


@app.command()
def scale(  # noqa: PLR0913, PLR0917 - an option each
    name: ClusterName,
    size: Annotated[int, typer.Argument(min=1, help="How many brokers there shall be.")],
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
    wait: Wait = True,
    timeout: Timeout = None,
) -> None:
    """Change the number of brokers while jobs run.

    The highest ranks are drained first; they leave when their jobs have ended. A job that cannot finish
    within drainTimeoutSeconds is started again elsewhere on this machine, under a new id that names the old
    one; on Kubernetes an Event names both.

      minicluster scale mc 2

      minicluster scale mc 8 --on kubernetes --timeout 300

    Inside of a MiniCluster `self` is that one: it is asked for, with the rights of the pod's service account.

      minicluster submit mc -- minicluster scale self 4
    """
    from minicluster import within

    if name == SELF and within.is_inside():
        refuse({"--namespace": namespace, "--context": context, "--kubeconfig": kubeconfig}, "another NAME")
        within.scale(size)
        typer.echo(f"cluster: {size} {'broker' if size == 1 else 'brokers'} asked for")
        return
    where = target(on, namespace, context, kubeconfig)
    if where is not None:
        kubernetes.scale(where, name, size, Waiting(wait, timeout))
        return
    refuse({"--no-wait": not wait, "--timeout": timeout}, "--on kubernetes")
    done = _order(name, {"order": "scale", "size": size})
    if done["before"] == done["size"]:
        typer.echo(f"cluster {name}: has {done['size']} brokers already")
    else:
        typer.echo(f"cluster {name}: {done['before']} → {done['size']} brokers")


class _Down(TyperCommand):
    """`down`, whose option --dump may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put what means any file behind an option that stands alone."""
        words = zip(args, [*args[1:], "-"], strict=True)
        alone = [word == "--dump" and after.startswith("-") for word, after in words]
        given = [f"{word}={ANY_FILE}" if bare else word for word, bare in zip(args, alone, strict=True)]
        return super().parse_args(ctx, given)


@app.command(cls=_Down)
def down(  # noqa: PLR0913, PLR0917 - an option each
    name: ClusterName,
    dump: Annotated[
        str,
        typer.Option(
            metavar="[FILE]", help="Save all jobs to this file first; Kubernetes: to spec.archive.path."
        ),
    ] = "",
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
    wait: Wait = True,
    timeout: Timeout = None,
) -> None:
    """End a cluster; with --dump no job is lost. On Kubernetes: delete it with all that belongs to it.

    A MiniCluster with an archive is saved before it is deleted, for a limited time. With --dump it is deleted
    only if that succeeds; else it goes on.

      minicluster down mc --dump saved.dump

      minicluster up cluster.yaml --restore saved.dump

      minicluster down mc --on kubernetes --dump
    """
    where = target(on, namespace, context, kubeconfig)
    if where is not None:
        kubernetes.down(where, name, dump, Waiting(wait, timeout))
        return
    refuse({"--no-wait": not wait, "--timeout": timeout}, "--on kubernetes")
    refuse({"--dump without a file": dump == ANY_FILE}, "--on kubernetes")
    from pathlib import Path

    from minicluster.local import orders

    orders.down(name, str(Path(dump).resolve()) if dump else "", say)
    typer.echo(f"cluster {name} is down")


@app.command()
def logs(
    name: ClusterName,
    rank: Annotated[int | None, typer.Option(min=0, help="Only this broker's log.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as it grows.")] = False,
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Show what the brokers, services and the supervisor wrote.

    minicluster logs mc --rank 0 --follow

    minicluster logs mc --on kubernetes
    """
    where = target(on, namespace, context, kubeconfig)
    if where is not None:
        kubernetes.logs(where, name, rank, follow=follow)
        return
    from minicluster.local import logs as kept
    from minicluster.local import state_file

    directory, state = state_file.need(name)
    for line in kept.lines(directory, state, rank, follow=follow):
        sys.stdout.buffer.write(line)
        sys.stdout.flush()


def _order(name: str, message: Mapping[str, Any]) -> dict[str, Any]:
    from minicluster.local import orders

    return orders.give(name, dict(message), say)


def _row(state: ClusterState) -> dict[str, Any]:
    row = dataclasses.asdict(state)
    del row["links"], row["start_time"], row["reason"]
    return {**row, "phase": state.phase.value, "age": age(time.time() - state.created)}


def _with_drain(brokers: list[dict[str, Any]], resources: Resources) -> list[dict[str, Any]]:
    drained = set(resources.drained.ranks)
    return [{**broker, "drained": broker["rank"] in drained} for broker in brokers]
