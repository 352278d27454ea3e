"""`minicluster run`."""

from __future__ import annotations

from typing import Annotated

import typer

from minicluster.cli.options import Document, EngineOption, Name, Size
from minicluster.cli.program_command import ProgramCommand

app = typer.Typer()


@app.command(cls=ProgramCommand)
def run(
    document: Document,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND...]", help="Run this in place of the document's command."),
    ] = None,
    size: Size = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="End the run after this many seconds.")
    ] = None,
    engine: EngineOption = "auto",
    name: Name = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the command's own output.")] = False,
) -> None:
    """Run a document's command on a MiniCluster of this machine, and end with its exit code.

    Brokers are processes of yours; nothing is left of them at the end.

      minicluster run examples/hello-world/minicluster.yaml

      minicluster run cluster.yaml --size 2 --timeout 60 -- ./a.out --steps 10
    """
    from minicluster.backends import discovery, documents
    from minicluster.backends.errors import NotOffered
    from minicluster.backends.records import ForegroundRun
    from minicluster.cli.reporting import PlainReporter

    kind = discovery.registry().kind(discovery.USUAL)
    if kind.run is None:
        raise NotOffered(f"run: is not offered by the back end {discovery.USUAL}")
    request = ForegroundRun(name, size, command or (), engine, timeout)
    raise typer.Exit(kind.run(documents.read(document), request, PlainReporter(quiet=quiet)))
