"""`minicluster shell`."""

from __future__ import annotations

from typing import Annotated

import typer

from minicluster.cli.backend_choice import chosen
from minicluster.cli.cluster_choice import named
from minicluster.cli.options import ClusterArgument
from minicluster.cli.program_command import ONLY, BackendProgramCommand

app = typer.Typer(add_completion=False)


@app.command(cls=BackendProgramCommand)
def shell(
    ctx: typer.Context,
    name: ClusterArgument,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND...]", help="Run this, then leave.")
    ] = None,
) -> None:
    """Open a shell in which `flux` speaks to the cluster; on Kubernetes it runs in the lead's container.

    minicluster shell mc

    minicluster shell mc -- flux resource list

    minicluster shell mc --on kubernetes -n research
    """
    backend = chosen(ctx)
    raise typer.Exit(backend.shell(named(backend, None if name == ONLY else name), command or ()))
