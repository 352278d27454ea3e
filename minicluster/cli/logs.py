"""`minicluster logs`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, split
from minicluster.cli.reporting import write_line

if TYPE_CHECKING:
    from minicluster.backends.port import Backend

app = typer.Typer(add_completion=False)


@app.command(cls=BackendCommand)
def logs(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", hidden=True)] = None,
    rank: Annotated[int | None, typer.Option(min=0, help="Only this broker's log.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as it grows.")] = False,
    tail: Annotated[
        int | None, typer.Option(min=1, metavar="LINES", help="Of each log only the last ones.")
    ] = None,
) -> None:
    """Show what the brokers, services and the supervisor wrote.

    minicluster logs mc --rank 0 --follow

    minicluster logs mc --tail 20 --on kubernetes
    """
    if tail is not None and follow:
        raise typer.BadParameter("shows what is there; leave out --follow", param_hint="--tail")
    backend = chosen(ctx)
    cluster, jobs = split(backend, name, (job,) if job else ())
    if jobs:
        attach = f"minicluster attach {cluster} {jobs[0]}{backend.words}"
        raise typer.BadParameter(f"logs are those of brokers; `{attach}` shows a job's output")
    if tail is None:
        backend.logs(cluster, write_line, rank, follow=follow)
    else:
        _show_last(backend, cluster, rank, tail)


def _show_last(backend: Backend, cluster: str, rank: int | None, number: int) -> None:
    """Write the last lines of each log. Those of several logs have their pod's name in front."""
    kept: dict[bytes, deque[bytes]] = {}

    def keep(line: bytes) -> None:
        pod = line.partition(b": ")[0] if rank is None else b""
        kept.setdefault(pod, deque(maxlen=number)).append(line)

    backend.logs(cluster, keep, rank, follow=False)
    for lines in kept.values():
        for line in lines:
            write_line(line)
