"""`minicluster policies`."""

from __future__ import annotations

from typing import Annotated

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.reporting import print_warning
from minicluster.cli.tables import OutputOption, show

app = typer.Typer(add_completion=False)


@app.command(cls=PlainCommand)
def policies(
    names: Annotated[list[str] | None, typer.Argument(metavar="[POLICY...]", help="Only these.")] = None,
    output: OutputOption = "table",
) -> None:
    """List the queue policies, with what can be set and its defaults.

    minicluster policies

    minicluster policies priority-elastic --output json
    """
    from queue_policies import plugins
    from queue_policies.simulator.selection import choices, row, table

    registry = plugins.registry()
    for name in names or ():
        registry.kind(name)
    for text in registry.warnings:
        print_warning(text)
    chosen = [each for each in choices(registry.policies) if not names or each.name in names]
    if output == "json":
        show([row(each) for each in chosen], (), output)
        return
    show(table("policy", chosen), ("policy", "default", "description"), output)
