"""How --help shows a command: usage as Kubernetes and Flux write it, types that say something, examples."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup

from minicluster.cli.option_errors import reworded

_EXAMPLE = re.compile(r"^ *((?:kubectl )?minicluster .+)$", re.MULTILINE)
_TYPES = {"str": "TEXT", "int": "N", "float": "NUMBER"}
_SHOWN_TYPE = re.compile(r"<(?:list\[)?([^]>]*?)(?: range)?]?>")


class HelpLayout:
    """What commands and their group have in common in --help."""

    help: str | None
    rich_markup_mode: Any

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, each with a type for users, and with its form for the usage line."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of what this is mixed into
        for each in found:
            vars(each).update(display_type_rich=partial(_shown_type, each))
            if each.param_type_name == "argument":
                vars(each).update(get_usage_pieces=partial(_usage, each))
        return found

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with examples indented and in bold."""
        plain = self.help or ""
        if self.rich_markup_mode == "rich":
            self.help = _EXAMPLE.sub(r"[bold]  \1[/bold]", plain)
        super().format_help(ctx, formatter)  # type: ignore[misc]
        self.help = plain


class PlainCommand(HelpLayout, TyperCommand):
    """A command without back ends, with the help and the reports of wrong values that all of ours have."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line. Raises BadParameter, UsageError."""
        with reworded():
            return super().parse_args(ctx, args)


class PlainGroup(HelpLayout, TyperGroup):
    """A command that has commands of its own."""


def _shown_type(parameter: Any, ctx: Any) -> str:
    """Return what stands beside an option: its metavar, its choices, or its type; nothing for a flag."""
    if parameter.param_type_name == "argument" or parameter.is_flag:
        return ""
    if parameter.metavar is not None:
        return str(parameter.metavar)
    text: str = parameter.display_type(ctx)
    found = _SHOWN_TYPE.fullmatch(text)
    return _TYPES.get(found[1], found[1]) if found else text


def _usage(argument: Any, _ctx: Any) -> list[str]:
    """Return how an argument stands in the usage line: `NAME`, `[JOB]`."""
    if argument.hidden:
        return []
    word: str = argument.metavar or str(argument.name).upper()
    if argument.nargs != 1 and not word.rstrip("]").endswith("..."):
        word += "..."
    return [word if argument.required or word.startswith("[") else f"[{word}]"]
