"""Documents without a cluster: validate, render, crd."""

from __future__ import annotations

from typing import Annotated

import typer

from minicluster.cli.options import Document, Name
from minicluster.cli.tables import Output, show

app = typer.Typer()


@app.command()
def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Documents; - is standard input.")],
    output: Output = "table",
) -> None:
    """Say everything that is wrong with documents, each with its path and line; exit code 1 if anything is.

    minicluster validate examples/*/minicluster.yaml
    """
    from minicluster.local import documents
    from minicluster.spec import loading
    from minicluster.spec.errors import DocumentError, Problem

    problems: list[Problem] = []
    for place in files:
        text = documents.read(place)
        try:
            valid = loading.parse(text.text, source=text.place).clusters
        except DocumentError as error:
            problems += error.problems
        else:
            if output == "table":
                typer.echo(f"{text.place}: valid ({', '.join(each.metadata.name for each in valid)})")
    if output == "json":
        fields = ("source", "line", "column", "path", "message", "found", "allowed", "hint")
        show([{key: getattr(each, key) for key in fields} for each in problems], fields, output)
    else:
        for problem in problems:
            typer.echo(str(problem))
    raise typer.Exit(1 if problems else 0)


@app.command()
def render(
    document: Document,
    name: Name = "",
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Show the CURVE certificate as well.")
    ] = False,
    output: Annotated[str, typer.Option("--output", "-o", help="yaml or json.")] = "yaml",
) -> None:
    """Print the Kubernetes objects of a document.

    minicluster render cluster.yaml | kubectl apply -f -
    """
    import json

    from broker_config import curve
    from minicluster import plan
    from minicluster.local import documents

    text = documents.read(document)
    cluster = documents.parse(text.text, text.place, name).cluster
    keys = curve.generate() if with_secrets else None
    objects = plan.render(cluster, plan.Site(), keys, with_secrets=with_secrets)
    if output == "json":
        items = {"apiVersion": "v1", "kind": "List", "items": objects}
        typer.echo(json.dumps(items, indent=2, ensure_ascii=False))
    else:
        typer.echo(plan.to_yaml(objects), nl=False)


@app.command()
def crd() -> None:
    """Print the CustomResourceDefinition of MiniClusters.

    minicluster crd | kubectl apply -f -
    """
    from minicluster.spec.crd import crd_yaml

    typer.echo(crd_yaml(), nl=False)
