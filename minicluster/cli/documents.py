"""Documents without a cluster: validate, render, crd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from minicluster.cli.kubernetes import site_of, target, trial
from minicluster.cli.options import Context, Document, Kubeconfig, Name, Namespace, On
from minicluster.cli.tables import Output, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.local.documents import Text
    from minicluster.spec import Problem

app = typer.Typer()
REDACTED = """\
# For reading only: the Secret is redacted, and Kubernetes refuses it. What can be applied is printed by
#   minicluster render FILE --with-secrets
"""


@app.command()
def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Documents; - is standard input.")],
    output: Output = "table",
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Say everything that is wrong with documents, each with its path and line; exit code 1 if anything is.

    With --on kubernetes also what the API server says to them (fields that cannot change, webhooks, quotas);
    nothing is kept there.

      minicluster validate examples/*/minicluster.yaml

      minicluster validate cluster.yaml --on kubernetes -n research
    """
    from minicluster.local import documents

    where = target(on, namespace, context, kubeconfig)
    texts = [documents.read(place) for place in files]
    valid, problems = _checked(texts)
    if where is not None:
        problems += trial(where, texts, problems)
        refused = {each.source for each in problems}
        valid = {place: names for place, names in valid.items() if place not in refused}
    for place, names in valid.items() if output == "table" else ():
        typer.echo(f"{place}: valid ({', '.join(names)})")
    if output == "json":
        fields = ("source", "line", "column", "path", "message", "found", "allowed", "hint")
        show([{key: getattr(each, key) for key in fields} for each in problems], fields, output)
    else:
        for problem in problems:
            typer.echo(str(problem))
    raise typer.Exit(1 if problems else 0)


@app.command()
def render(  # noqa: PLR0913, PLR0917 - an option each
    document: Document,
    name: Name = "",
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Show the CURVE certificate as well.")
    ] = False,
    output: Annotated[str, typer.Option("--output", "-o", help="yaml or json.")] = "yaml",
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Print the Kubernetes objects of a document, its Secret without data.

    minicluster render cluster.yaml

    Redacted objects are for reading: Kubernetes refuses such a Secret. To apply them:

    minicluster render cluster.yaml --with-secrets | kubectl apply -f -

    With --on kubernetes as that cluster's operator makes them: for its version, in the context's namespace.

    minicluster render cluster.yaml --on kubernetes
    """
    import json
    from dataclasses import replace

    from broker_config import curve
    from minicluster import plan
    from minicluster.local import documents

    where = target(on, namespace, context, kubeconfig)
    text = documents.read(document)
    cluster = documents.parse(text.text, text.place, name).cluster
    keys = plan.FreshKeys(curve.generate()) if with_secrets else None
    site = site_of(where) if where is not None else plan.Site()
    if with_secrets:  # without an operator there is nobody who could ask by the lead's door
        site = replace(site, door=False)
    objects = plan.render(cluster, site, keys, with_secrets=with_secrets)
    if not with_secrets:
        objects = [_inapplicable(each) if each["kind"] == "Secret" else each for each in objects]
    if output == "json":
        items = {"apiVersion": "v1", "kind": "List", "items": objects}
        typer.echo(json.dumps(items, indent=2, ensure_ascii=False))
    else:
        typer.echo("" if with_secrets else REDACTED, nl=False)
        typer.echo(plan.to_yaml(objects), nl=False)


def _checked(texts: Sequence[Text]) -> tuple[dict[str, list[str]], list[Problem]]:
    """Return the names of the MiniClusters in each text that is valid, and what is wrong with the others."""
    from minicluster.spec import loading
    from minicluster.spec.errors import DocumentError

    valid: dict[str, list[str]] = {}
    problems: list[Problem] = []
    for text in texts:
        try:
            clusters = loading.parse(text.text, source=text.place).clusters
        except DocumentError as error:
            problems += error.problems
        else:
            valid[text.place] = [each.metadata.name for each in clusters]
    return valid, problems


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
