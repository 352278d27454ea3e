"""`minicluster completion`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from minicluster.cli.completion import scripts
from minicluster.cli.help_text import PlainCommand

app = typer.Typer(add_completion=False)


@app.command(cls=PlainCommand)
def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="The shell.")
    ],
) -> None:
    """Print a script by which a shell completes commands, options, clusters, jobs, policies and files.

    For bash this line goes into ~/.bashrc, for zsh the same with zsh into ~/.zshrc:

      eval "$(minicluster completion bash)"

    For fish this one goes into ~/.config/fish/config.fish:

      minicluster completion fish | source

    kubectl, from 1.26 on, completes `kubectl minicluster` with its own script.
    """
    typer.echo(scripts.OF_SHELL[shell], nl=False)
