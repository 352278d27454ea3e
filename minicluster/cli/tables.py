"""Listings: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import typer

Format = Literal["table", "json"]
Output = Annotated[Format, typer.Option("--output", "-o", help="How to print it.")]
Row = Mapping[str, Any]


def show(rows: Sequence[Row], columns: Sequence[str], output: Format, empty: str = "") -> None:
    """Print rows: as a JSON array with every field, or as a table of these columns."""
    if output == "json":
        typer.echo(json.dumps(list(rows), indent=2, ensure_ascii=False))
    elif rows:
        _table(rows, columns)
    elif empty:
        typer.echo(empty)


def _table(rows: Sequence[Row], columns: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.upper().replace("_", " "), no_wrap=True)
    for row in rows:
        table.add_row(*(Text("" if row[column] is None else str(row[column])) for column in columns))
    console = Console()
    # Into a pipe or file a table is as wide as it is: cut fields would be no use there.
    console.print(table, width=None if console.is_terminal else 1000, crop=False)


def age(seconds: float) -> str:
    """Return a duration as Kubernetes shows ages: 12s, 5m, 3h, 2d."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(0, int(seconds))}s"
