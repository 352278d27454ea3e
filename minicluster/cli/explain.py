"""`minicluster explain`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.tables import show, show_fields

if TYPE_CHECKING:
    from minicluster.document.explanation import FieldExplanation

app = typer.Typer(add_completion=False)


@app.command(cls=PlainCommand)
def explain(
    field: Annotated[
        str, typer.Argument(metavar="[FIELD]", help="A field path as in spec.flux; without one: the whole.")
    ] = "",
    recursive: Annotated[
        bool, typer.Option("--recursive", help="The names and types of all fields below it.")
    ] = False,
    output: Annotated[
        Literal["text", "json-schema"],
        typer.Option("--output", "-o", help="json-schema: for editors, and other programs."),
    ] = "text",
) -> None:
    """Explain a field of the document: what it means, its type, default and bounds. No cluster is needed.

      minicluster explain spec.size

      minicluster explain spec.containers --recursive

    With `# yaml-language-server: $schema=minicluster.schema.json` in a document, editors check it:

      minicluster explain --output json-schema > minicluster.schema.json
    """
    import json

    from minicluster.document import explanation
    from minicluster.document.errors import UnknownField

    try:
        found = explanation.explain(field)
    except UnknownField as error:
        raise typer.BadParameter(str(error), param_hint="FIELD") from error
    if output == "json-schema":
        typer.echo(json.dumps(explanation.schema_of(found), indent=2, ensure_ascii=False))
    elif recursive:
        typer.echo("\n".join(_tree(found, 0)))
    else:
        _show(found)


def _show(found: FieldExplanation) -> None:
    facts = {
        "field": found.field_path or "MiniCluster (flux-framework.org/v1alpha2)",
        "type": found.type,
        "allowed": found.allowed,
        "default": found.default,
        "later": found.fixed and f"fixed: {found.fixed}",
    }
    show_fields({name: value for name, value in facts.items() if value})
    typer.echo("\n" + textwrap.fill(found.description, 100))
    rows = [
        {"field": each.name, "type": each.type, "default": each.default, "meaning": each.description}
        for each in found.fields()
    ]
    if rows:
        typer.echo("")
        show(rows, ("field", "type", "default", "meaning"), "table")


def _tree(found: FieldExplanation, depth: int) -> list[str]:
    lines = []
    for each in found.fields():
        lines += [f"{'  ' * depth}{each.name} <{each.type}>", *_tree(each, depth + 1)]
    return lines or ([f"{found.name} <{found.type}>"] if not depth else [])
