"""`minicluster logs`."""

from __future__ import annotations

from typing import Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, split
from minicluster.cli.reporting import write_line

app = typer.Typer(add_completion=False)


@app.command(cls=BackendCommand)
def logs(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", hidden=True)] = None,
    rank: Annotated[int | None, typer.Option(min=0, help="Only this broker's log.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as it grows.")] = False,
) -> None:
    """Show what the brokers, services and the supervisor wrote.

    minicluster logs mc --rank 0 --follow

    minicluster logs mc --on kubernetes
    """
    backend = chosen(ctx)
    cluster, jobs = split(backend, name, (job,) if job else ())
    if jobs:
        attach = f"minicluster attach {cluster} {jobs[0]}{backend.words}"
        raise typer.BadParameter(f"logs are those of brokers; `{attach}` shows a job's output")
    backend.logs(cluster, write_line, rank, follow=follow)
