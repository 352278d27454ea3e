"""`minicluster policies`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.reporting import print_warning
from minicluster.cli.tables import Format, OutputOption, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.plugin_group import PluginRegistry

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

    show_classes(plugins.registry(), "policy", names, output)


def show_classes(
    registry: PluginRegistry[Any], column: str, names: Sequence[str] | None, output: Format
) -> None:
    """Print the classes of a group of plug-ins, or those with these names, and warn of what is ignored."""
    from queue_policies.simulator.selection import described, row, table

    for name in names or ():
        registry.kind(name)
    for text in registry.warnings:
        print_warning(text)
    chosen = [each for each in described(registry.classes) if not names or each.name in names]
    if output == "json":
        show([row(each) for each in chosen], (), output)
        return
    show(table(column, chosen), (column, "default", "description"), output)
