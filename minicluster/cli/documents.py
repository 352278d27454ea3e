"""Documents without a cluster: validate, render, crd."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from minicluster.cli.options import Document, Name
from minicluster.cli.tables import Output, show

app = typer.Typer()
REDACTED = """\
# For reading only: the Secret is redacted, and Kubernetes refuses it. What can be applied is printed by
#   minicluster render FILE --with-secrets
"""


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
    """Print the Kubernetes objects of a document, its Secret without data.

    minicluster render cluster.yaml

    Redacted objects are for reading: Kubernetes refuses such a Secret. To apply them:

    minicluster render cluster.yaml --with-secrets | kubectl apply -f -
    """
    import json

    from broker_config import curve
    from minicluster import plan
    from minicluster.local import documents

    text = documents.read(document)
    cluster = documents.parse(text.text, text.place, name).cluster
    keys = curve.generate() if with_secrets else None
    objects = plan.render(cluster, plan.Site(), keys, with_secrets=with_secrets)
    if not with_secrets:
        objects = [_inapplicable(each) if each["kind"] == "Secret" else each for each in objects]
    if output == "json":
        items = {"apiVersion": "v1", "kind": "List", "items": objects}
        typer.echo(json.dumps(items, indent=2, ensure_ascii=False))
    else:
        typer.echo("" if with_secrets else REDACTED, nl=False)
        typer.echo(plan.to_yaml(objects), nl=False)


def _inapplicable(secret: dict[str, Any]) -> dict[str, Any]:
    """Return a redacted Secret as one that an API server refuses: as `data` the words are no base64.

    As `stringData` they would be taken for the certificate, and no broker would start with that.
    """
    return {key: value for key, value in secret.items() if key != "stringData"} | {
        "data": secret["stringData"]
    }


@app.command()
def crd() -> None:
    """Print the CustomResourceDefinition of MiniClusters.

    minicluster crd | kubectl apply -f -
    """
    from minicluster.spec.crd import crd_yaml

    typer.echo(crd_yaml(), nl=False)
