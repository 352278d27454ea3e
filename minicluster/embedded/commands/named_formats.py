"""`-o NAME`, `-o help`, `-o get-config=NAME` and format strings given directly, for every listing command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minicluster.embedded.commands.console import fail
from minicluster.embedded.formats import FormatError, OutputFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Named = Mapping[str, tuple[str, str]]  # name → (description, format)


def chosen(
    command: str,
    text: str,
    named: Named,
    headings: Mapping[str, str],
    value: Callable[[Any, str], Any],
    sort: str | None = None,
) -> OutputFormat | None:
    """The format that `text` gives or names; None where help was printed instead."""
    if text == "help":
        print(f"\nConfigured flux-{command} output formats:\n")
        print("\n".join(f"  {name:<12} {described}" for name, (described, _format) in named.items()))
        return None
    if text.startswith("get-config="):
        name = text.partition("=")[2]
        described, form = named.get(name) or _absent(name)
        print(f'[formats.{name}]\ndescription = "{described}"\nformat = "{form}"')
        return None
    if text not in named and "{" not in text:
        _absent(text)
    try:
        return OutputFormat(named[text][1] if text in named else text, headings, value, sort)
    except FormatError as error:
        fail(str(error) if "sort key" in str(error) else f"Error in user format: {error}")


def _absent(name: str) -> tuple[str, str]:
    fail(f"--format: No such format {name} (Did you mean '{{{name}}}'?)")
