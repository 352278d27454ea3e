"""`minicluster up`."""

from __future__ import annotations

from typing import Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.options import DocumentArgument, NameOption, SizeOption
from minicluster.cli.tables import echo

app = typer.Typer(add_completion=False)


@app.command(cls=BackendCommand)
def up(  # noqa: PLR0913, PLR0917 - an option each
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
    placement: Annotated[
        str,
        typer.Option(
            metavar="PLACEMENT",
            help="Which cores a job gets, with settings as in random:seed=1, in place of"
            " spec.flux.scheduler's; see `minicluster placements`.",
        ),
    ] = "",
    affinity: Annotated[
        str,
        typer.Option(
            metavar="AFFINITY",
            help="Whether a worker's cores are of one NUMA domain: none, best-effort or required.",
        ),
    ] = "",
    profile: Annotated[
        str,
        typer.Option(
            metavar="PROFILE",
            help="What the main job uses most, in place of spec.profile: cpu, memory, network or io.",
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

      minicluster up cluster.yaml --placement balanced --affinity required --profile memory

      minicluster up cluster.yaml --on kubernetes -n research --wait --timeout 10m
    """
    from minicluster.backends import documents
    from minicluster.backends.records import PlacementRequest, UpRequest

    backend = chosen(ctx)
    request = UpRequest(name, size, policy, PlacementRequest(placement, affinity, profile))
    for each in backend.up(documents.read(document), request):
        echo(f"cluster {each.name} is {each.phase}{each.note}")
