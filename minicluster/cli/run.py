"""`minicluster run`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minicluster.cli.options import EngineOption, NameOption, TimeoutOption
from minicluster.cli.program_command import ProgramCommand

if TYPE_CHECKING:
    from minicluster.backends.documents import DocumentText

app = typer.Typer(add_completion=False)


class _Run(ProgramCommand):
    """`run`, whose command may stand behind `--` without a document."""

    def arranged(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments with an empty name for the document where `--` is the first word."""
        options, words = self.split(ctx, args)
        return super().arranged(ctx, [*options, "", *words] if options[-1:] == ["--"] else args)


@app.command(cls=_Run)
def run(  # noqa: PLR0913, PLR0917 - an option each
    document: Annotated[
        str, typer.Argument(metavar="[FILE]", help="The document; - is standard input.")
    ] = "",
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COMMAND...]", help="Run this in place of the document's command, or without one."
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option("--size", "-N", min=1, metavar="BROKERS", help="How many, in place of spec.size."),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option("--tasks", "-n", min=1, metavar="N", help="Number of tasks, in place of spec.tasks."),
    ] = None,
    timeout: TimeoutOption = None,
    engine: EngineOption = "auto",
    name: NameOption = "",
    oversubscribe: Annotated[
        bool, typer.Option("--oversubscribe", help="Start more brokers than this machine should have.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the command's own output.")] = False,
) -> None:
    """Run a document's command on a MiniCluster of this machine, and end with its exit code.

    Brokers are processes of yours; nothing is left of them at the end.

      minicluster run examples/hello-world/minicluster.yaml

      minicluster run cluster.yaml --size 2 --timeout 5m -- ./a.out --steps 10

    Without a document: one broker and one task, unless --size and --tasks ask for more.

      minicluster run --tasks 4 -- ./a.out --steps 10
    """
    from minicluster.backends import discovery
    from minicluster.backends.errors import NotOffered
    from minicluster.backends.records import ForegroundRun
    from minicluster.cli.reporting import PlainReporter

    kind = discovery.registry().kind(discovery.USUAL)
    if kind.run is None:
        raise NotOffered(f"run: is not offered by the back end {discovery.USUAL}")
    text = _document(document, command or [], size or 1, tasks or 0)
    request = ForegroundRun(name, size, command or (), engine, timeout, tasks, oversubscribe)
    raise typer.Exit(kind.run(text, request, PlainReporter(quiet=quiet)))


def _refuse_program(path: str) -> None:
    """Raise BadParameter for a file that is a program or a script, and no document."""
    from pathlib import Path

    try:
        with Path(path).open("rb") as file:
            start = file.readline(256)
    except OSError:
        return  # reading the document reports it
    if start.startswith(b"\x7fELF") or (start.startswith(b"#!") and b"minicluster" not in start):
        call = f"minicluster run -- {shlex.quote(path)}"
        raise typer.BadParameter(f"{path}: is a program, and no document: `{call}`", param_hint="FILE")


def _document(path: str, command: list[str], size: int, tasks: int) -> DocumentText:
    """Return the document of a path; without one, a document that is made for the command."""
    from minicluster.backends import documents

    if path:
        _refuse_program(path)
        return documents.read(path)
    if not command:
        raise typer.BadParameter("give a document, or a command behind --", param_hint="FILE")
    from minicluster.document import request

    asked = request.DocumentRequest(command=tuple(command), size=size, tasks=tasks, image="")
    return documents.DocumentText(request.text(asked), "the command line")
