"""`minicluster up`."""

from __future__ import annotations

from typing import Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.options import DocumentArgument, NameOption, SizeOption
from minicluster.cli.tables import echo

app = typer.Typer(add_completion=False)


@app.command(cls=BackendCommand)
def up(
    ctx: typer.Context,
    document: DocumentArgument,
    size: SizeOption = None,
    policy: Annotated[
        str,
        typer.Option(
            metavar="POLICY[:SETTING=VALUE,...]",
            help="Queue policy, in place of spec.flux.scheduler's; see `minicluster policies`.",
        ),
    ] = "",
    name: NameOption = "",
) -> None:
    """Bring a cluster up: on this machine for jobs sent to it, on Kubernetes to run its command.

    On Kubernetes every MiniCluster of the file is applied, or the one of --name. The exit code is 0 once all
    run (with --wait: have succeeded), else that of the main command that failed.

      minicluster up examples/interactive/minicluster.yaml

      minicluster up cluster.yaml --size 3 --restore saved.dump

      minicluster up cluster.yaml --policy priority-elastic:gap=60

      minicluster up cluster.yaml --on kubernetes -n research --wait --timeout 10m
    """
    from minicluster.backends import documents
    from minicluster.backends.records import UpRequest

    backend = chosen(ctx)
    for each in backend.up(documents.read(document), UpRequest(name, size, policy)):
        echo(f"cluster {each.name} is {each.phase}{each.note}")
