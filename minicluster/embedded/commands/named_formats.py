"""`-o NAME` and format strings given directly, for every listing command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from minicluster.embedded.commands.console import fail
from minicluster.embedded.formats import FormatError, OutputFormat

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every listing."""
    form = "format string or name; help lists the names"
    parser.add_argument("-o", "--format", default="default", metavar="FORMAT", help=form)
    parser.add_argument("-n", "--no-header", action="store_true", help="no header line")


def chosen(
    options: argparse.Namespace,
    named: Mapping[str, str],
    headings: Mapping[str, str],
    value: Callable[[Any, str], Any] = lambda row, name: row[name],
    wrong: str = "{}",
) -> OutputFormat:
    """Return the format that -o gives or names; `wrong` is the message for one that does not parse.

    `-o help` prints the named ones, and ends the command.
    """
    text = options.format
    if text == "help":
        sys.stdout.write("".join(f"{name:<10} {form}\n" for name, form in named.items()))
        raise SystemExit(0)
    if text not in named and "{" not in text:
        fail(f"--format: No such format {text} (Did you mean '{{{text}}}'?)")
    try:
        return OutputFormat(named.get(text, text), headings, value)
    except FormatError as error:
        fail(wrong.format(error))


def show(layout: OutputFormat, rows: Sequence[Any], options: argparse.Namespace) -> None:
    """Print the table. As with Flux, a row of which nothing shows has no line."""
    header = not options.no_header
    lines = list(layout.table(rows, header=header))
    shown = lines[:header] + [line for line in lines[header:] if line.strip()]
    sys.stdout.write("".join(f"{line}\n" for line in shown))
