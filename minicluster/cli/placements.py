"""`minicluster placements`."""

from __future__ import annotations

from typing import Annotated

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.reporting import print_warning
from minicluster.cli.tables import OutputOption, show

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
    from queue_policies.simulator.selection import described, row, table

    registry = plugins.registry()
    for name in names or ():
        registry.kind(name)
    for text in registry.warnings:
        print_warning(text)
    chosen = [each for each in described(registry.placements) if not names or each.name in names]
    if output == "json":
        show([row(each) for each in chosen], (), output)
        return
    show(table("placement", chosen), ("placement", "default", "description"), output)
