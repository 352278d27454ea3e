"""`minicluster run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from minicluster.cli.options import Document, EngineOption, Name, Size

app = typer.Typer()


@app.command()
def run(
    document: Document,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="Run this in place of the document's command."),
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
    from minicluster.cli.reporting import reporter
    from minicluster.local import documents
    from minicluster.local import run as local

    text = documents.read(document)
    source = documents.parse(text.text, text.place, name)
    source = documents.with_request(source, size=size, command=command or [])
    with reporter(quiet=quiet) as told:
        request = local.RunRequest(
            source=source,
            engine=engine,
            timeout=timeout,
            working_directory=Path.cwd(),
            shell=local.shell_of_user() if documents.is_interactive(source) else (),
        )
        raise typer.Exit(local.run(request, told))
