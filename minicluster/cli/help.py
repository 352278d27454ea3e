"""`minicluster help`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from minicluster.cli.help_text import PlainCommand

app = typer.Typer(add_completion=False)


@app.command(name="help", cls=PlainCommand)
def help_(
    ctx: typer.Context,
    command: Annotated[str, typer.Argument(metavar="[COMMAND]", help="Without one: what there is.")] = "",
) -> None:
    """Show how a command is used, as --help does.

    minicluster help submit
    """
    above: Any = ctx.parent
    if not command:
        typer.echo(above.get_help())
        return
    name, found, _ = above.command.resolve_command(above, [command])
    with found.make_context(name, [], parent=above, resilient_parsing=True) as inner:
        typer.echo(inner.get_help())
