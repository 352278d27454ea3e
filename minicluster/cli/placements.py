"""`minicluster placements`."""

from __future__ import annotations

from typing import Annotated

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.policies import show_classes
from minicluster.cli.tables import OutputOption

app = typer.Typer(add_completion=False)


@app.command(cls=PlainCommand)
def placements(
    names: Annotated[list[str] | None, typer.Argument(metavar="[PLACEMENT...]", help="Only these.")] = None,
    output: OutputOption = "table",
) -> None:
    """List the placements, with what can be set and its defaults.

    minicluster placements

    minicluster placements task-group balanced --output json
    """
    from queue_policies.placement import plugins

    show_classes(plugins.registry(), "placement", names, output)
