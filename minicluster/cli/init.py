"""`minicluster init`."""

from __future__ import annotations

import re
import shlex
import sys
from typing import Annotated

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.reporting import print_warning

app = typer.Typer(add_completion=False)


_SHELL = re.compile(r"[\s|&;<>]")
"""What stands between the words of a shell, and seldom in a program's name."""


class _Init(PlainCommand):
    """A command whose arguments are a program with its arguments: options end at the program."""

    allow_interspersed_args = False


@app.command(cls=_Init)
def init(  # noqa: PLR0913, PLR0917 - an option each
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND...]", help="What it runs; without one: it stays up for jobs."),
    ] = None,
    file: Annotated[
        str, typer.Option("--file", "-f", metavar="FILE", help="Write a new file, not standard output.")
    ] = "",
    name: Annotated[str, typer.Option(metavar="NAME", help="Its name, in place of the program's.")] = "",
    size: Annotated[int, typer.Option(min=1, metavar="BROKERS", help="Number of brokers.")] = 1,
    max_size: Annotated[
        int, typer.Option(min=0, metavar="BROKERS", help="To which it may grow; 0: it does not.")
    ] = 0,
    tasks: Annotated[
        int, typer.Option("--tasks", "-n", min=0, metavar="N", help="Number of tasks; 0: one a broker.")
    ] = 0,
    cores: Annotated[
        int, typer.Option("--cores-per-task", "-c", min=0, metavar="N", help="Cores of each task; 0: one.")
    ] = 0,
    gpus: Annotated[
        int, typer.Option("--gpus-per-task", "-g", min=0, metavar="N", help="GPUs of each task.")
    ] = 0,
    profile: Annotated[
        str,
        typer.Option(metavar="PROFILE", help="What it uses most: cpu, memory, network or io."),
    ] = "",
    image: Annotated[
        str, typer.Option(metavar="IMAGE", help="The application's image; by default ubuntu:24.04.")
    ] = "",
) -> None:
    """Write a document made from a command line, with comments, for `minicluster run` and `up`.

    minicluster init --size 4 -- ./a.out --steps 10

    minicluster init --file train.yaml --size 2 -g 1 --image registry/train -- python train.py

    minicluster init --size 4 -n 64 --profile memory -- ./stream

    minicluster init --name mc --size 2 --max-size 8
    """
    from minicluster.document import loading, request

    _check(command or [])
    asked = request.DocumentRequest(
        command=tuple(command or ()),
        name=name,
        size=size,
        max_size=max_size,
        tasks=tasks,
        cores_per_task=cores,
        gpus_per_task=gpus,
        profile=profile,
        image=image or request.IMAGE,
        words=shlex.join(["minicluster", *sys.argv[1:]]).replace("\n", " "),
    )
    text = request.text(asked)
    loading.parse(text, source="the command line")
    _write(text, file, "run" if command else "up")


def _check(command: list[str]) -> None:
    """Warn of what was written for a shell."""
    if len(command) == 1 and _SHELL.search(command[0]):
        print_warning(
            f"{command[0]!r} is taken for one program's name; a line for a shell is written"
            f" -- sh -c {shlex.quote(command[0])}"
        )


def _write(text: str, file: str, then: str) -> None:
    """Write a file that is not there yet, and print the command that takes it; without one, print the text.

    Raises BadParameter.
    """
    from pathlib import Path

    if not file:
        typer.echo(text, nl=False)
        return
    try:
        with Path(file).open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise typer.BadParameter(f"{file}: exists already", param_hint="--file") from error
    except OSError as error:
        raise typer.BadParameter(
            f"{file}: cannot be written: {error.strerror}", param_hint="--file"
        ) from error
    typer.echo(f"{file}: minicluster {then} {file}")
