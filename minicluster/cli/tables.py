"""Listings: a table for users, JSON for programs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import typer

Format = Literal["table", "json"]
OutputOption = Annotated[Format, typer.Option("--output", "-o", help="How to print it.")]
Row = Mapping[str, Any]
GAP = "  "


def show(rows: Sequence[Row], columns: Sequence[str], output: Format, empty: str = "") -> None:
    """Print rows: as a JSON array with every field, or as a table of these columns.

    Nothing is ever cut. On a terminal that is too narrow for a table whose last column may run over the edge,
    each row becomes a block of lines.
    """
    if output == "json":
        typer.echo(json_text(list(rows), indent=2))
    elif rows:
        lines = [[cell(row[column]) for column in columns] for row in rows]
        titles = [column.replace("_", " ") for column in columns]
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        typer.echo("\n".join(_table(titles, lines, width) or _blocks(titles, lines)))
    elif empty:
        typer.echo(empty)


def show_fields(row: Row) -> None:
    """Print one row, a line a field."""
    titles = {key: key.replace("_", " ") + ":" for key in row}
    margin = max(16, *map(len, titles.values()))
    for key, value in row.items():
        typer.echo(f"{titles[key]:<{margin}} {cell(value)}".rstrip())


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON that is safe to see on a terminal: what is not printable is escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)


def echo(text: str) -> None:
    """Print lines; control characters in them, which could move the cursor, are escaped."""
    from broker_config.formats.printable import printable_lines

    typer.echo(printable_lines(text))


def cell(value: object) -> str:
    """Return a value as text for users. Control characters, which could move the cursor, are escaped."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    from broker_config.formats.printable import printable

    return "" if value is None else printable(str(value))


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of a table; none where all columns but the last need more than `width` (0: any)."""
    from rich.cells import cell_len

    table = [[title.upper() for title in titles], *rows]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    if width and sum(widths[:-1]) + len(GAP) * len(widths[:-1]) + cell_len(table[0][-1]) > width:
        return []
    lines = [
        GAP.join(
            text + " " * (size - cell_len(text)) for text, size in zip(row, widths, strict=True)
        ).rstrip()
        for row in table
    ]
    if width and not os.environ.get("NO_COLOR"):
        lines[0] = f"\x1b[1m{lines[0]}\x1b[0m"
    return lines


def _blocks(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    margin = max(map(len, titles)) + 2
    blocks = [
        "\n".join(f"{title + ':':<{margin}}{text}".rstrip() for title, text in zip(titles, row, strict=True))
        for row in rows
    ]
    return "\n\n".join(blocks).splitlines()


def age(seconds: float) -> str:
    """Return a duration as Kubernetes shows ages: 12s, 5m, 3h, 2d."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(0, int(seconds))}s"
