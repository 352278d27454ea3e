"""Clusters that become larger or smaller, or pause: scale, suspend, resume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen, refuse
from minicluster.cli.options import ClusterArgument

if TYPE_CHECKING:
    from minicluster.backends.records import ScaleResult

app = typer.Typer(add_completion=False)
SELF = "self"
"""The cluster that this process runs in."""


@app.command(cls=BackendCommand)
def scale(
    ctx: typer.Context,
    name: ClusterArgument,
    size: Annotated[int, typer.Argument(min=1, help="How many brokers there shall be.")],
) -> None:
    """Change the number of brokers while jobs run.

    The highest ranks are drained first; they leave when their jobs have ended. A job that cannot finish
    within drainTimeoutSeconds is started again elsewhere on this machine, under a new id that names the old
    one; on Kubernetes an Event names both.

      minicluster scale mc 2

      minicluster scale mc 8 --on kubernetes --timeout 5m

    On Kubernetes brokers may have been cut by `spec.profile`: then SIZE counts them as the document has
    them, and `status` prints how many brokers each is.

    Inside of a MiniCluster `self` is that one: it is asked for, with the rights of the pod's service account.

      minicluster submit mc -- minicluster scale self 4
    """
    from minicluster import within

    if name == SELF and within.is_inside():
        refuse(ctx, needed="another NAME")
        within.scale(size)
        typer.echo(f"cluster: {size} {'broker' if size == 1 else 'brokers'} asked for")
        return
    typer.echo(f"cluster {name}: {changed(chosen(ctx).scale(name, size))}")


def changed(done: ScaleResult) -> str:
    """Return what became of a size: in brokers, and where these were cut also in those of the document."""
    before, after = done.before * done.parts, done.after * done.parts
    is_cut = done.parts > 1
    if before == after:
        return f"has {after} brokers already" + (f", its size is {done.after}" if is_cut else "")
    sizes = f"size {done.before} → {done.after}, " if is_cut else ""
    return f"{sizes}{before} → {after} brokers{'' if done.is_done else ' asked for'}"


@app.command(cls=BackendCommand)
def suspend(ctx: typer.Context, name: ClusterArgument) -> None:
    """Suspend a cluster: its brokers end, and it stays. On Kubernetes one with an archive is saved first.

    minicluster suspend mc --on kubernetes -n research
    """
    done = chosen(ctx).suspend(name, suspended=True)
    typer.echo(f"cluster {name} is {done.phase}" if done.is_done else f"cluster {name} is being suspended")


@app.command(cls=BackendCommand)
def resume(ctx: typer.Context, name: ClusterArgument) -> None:
    """Have a suspended cluster go on: its brokers are started again, with what was saved of it.

    minicluster resume mc --on kubernetes -n research
    """
    done = chosen(ctx).suspend(name, suspended=False)
    typer.echo(f"cluster {name} is {done.phase}" if done.is_done else f"cluster {name} is being resumed")
