"""`minicluster down`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.options import ClusterArgument
from minicluster.cli.tables import echo

app = typer.Typer(add_completion=False)


class _Down(BackendCommand):
    """`down`, whose option --dump may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with the value for any file behind an option --dump without a value."""
        from minicluster.backends.port import ANY_FILE

        words = zip(args, [*args[1:], "-"], strict=False)  # without any argument the second has one more
        alone = [word == "--dump" and after.startswith("-") for word, after in words]
        given = [f"{word}={ANY_FILE}" if bare else word for word, bare in zip(args, alone, strict=True)]
        return super().parse_args(ctx, given)


@app.command(cls=_Down)
def down(
    ctx: typer.Context,
    name: ClusterArgument,
    dump: Annotated[
        str,
        typer.Option(
            metavar="[FILE]", help="Save all jobs to this file first; Kubernetes: to spec.archive.path."
        ),
    ] = "",
) -> None:
    """End a cluster, with its jobs; --dump keeps these. On Kubernetes: delete it with all that belongs to it.

    In a dump, jobs that wait keep their ids. Those that run have the document's drainTimeoutSeconds (30) to
    end; what still runs then begins anew when the dump is restored, under a new id.

    A MiniCluster with an archive is saved before it is deleted, for a limited time. With --dump it is deleted
    only if that succeeds; else it goes on.

      minicluster down mc --dump saved.dump

      minicluster up cluster.yaml --restore saved.dump

      minicluster down mc --on kubernetes --dump
    """
    done = chosen(ctx).down(name, dump)
    echo(f"cluster {name} is down" if done.is_done else f"cluster {name} is being deleted")
    if done.note:
        echo(done.note)
