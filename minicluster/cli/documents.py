"""Documents without a cluster: validate, render, crd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.help_text import PlainCommand
from minicluster.cli.options import DocumentArgument, NameOption
from minicluster.cli.reporting import PlainReporter
from minicluster.cli.tables import OutputOption, echo, json_text, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minicluster.backends.documents import DocumentText
    from minicluster.document import MiniCluster, Problem

app = typer.Typer(add_completion=False)
REDACTED = """\
# For reading only: the Secret is redacted, and Kubernetes refuses it. What can be applied is printed by
#   minicluster render FILE --with-secrets
"""


@app.command(cls=BackendCommand)
def validate(
    ctx: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Documents; - is standard input.")],
    output: OutputOption = "table",
) -> None:
    """Say everything that is wrong with documents, each with its path and line; exit code 1 if anything is.

    With --on kubernetes also what the API server says to them (fields that cannot change, webhooks, quotas);
    nothing is kept there.

      minicluster validate examples/*/minicluster.yaml

      minicluster validate cluster.yaml --on kubernetes -n research
    """
    from minicluster.backends import documents

    backend = chosen(ctx)
    texts = [documents.read(path) for path in files]
    valid, problems = _checked(texts)
    problems += backend.trial(texts, problems)
    refused = {each.source for each in problems}
    valid = {source: names for source, names in valid.items() if source not in refused}
    for source, names in valid.items() if output == "table" else ():
        echo(f"{source}: valid ({', '.join(names)})")
    if output == "json":
        fields = ("source", "line", "column", "path", "message", "found", "allowed", "hint")
        show([{key: getattr(each, key) for key in fields} for each in problems], fields, output)
    else:
        for problem in problems:
            echo(str(problem))
    raise typer.Exit(1 if problems else 0)


@app.command(cls=BackendCommand)
def render(
    ctx: typer.Context,
    document: DocumentArgument,
    name: NameOption = "",
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Show the CURVE certificate as well.")
    ] = False,
    output: Annotated[
        Literal["yaml", "json"], typer.Option("--output", "-o", help="How to print them.")
    ] = "yaml",
) -> None:
    """Print the Kubernetes objects of a document, its Secret without data.

    minicluster render cluster.yaml

    Redacted objects are for reading: Kubernetes refuses such a Secret. To apply them:

    minicluster render cluster.yaml --with-secrets | kubectl apply -f -

    With --on kubernetes as that cluster's operator makes them: for its version, in the context's namespace.

    minicluster render cluster.yaml --on kubernetes
    """
    from dataclasses import replace

    from broker_config import curve
    from minicluster import plan
    from minicluster.backends import documents
    from minicluster.document import loading

    backend = chosen(ctx)
    text = documents.read(document)
    cluster = documents.choose(loading.parse(text.text, source=text.source).clusters, name, text.source)
    keys = plan.FreshKeys(curve.generate()) if with_secrets else None
    site = backend.site()
    if with_secrets:  # without an operator there is no client of the lead API
        site = replace(site, lead_api=False)
    objects = plan.render(cluster, site, keys, with_secrets=with_secrets)
    if not with_secrets:
        objects = [_inapplicable(each) if each["kind"] == "Secret" else each for each in objects]
    if output == "json":
        items = {"apiVersion": "v1", "kind": "List", "items": objects}
        typer.echo(json_text(items, indent=2))
    else:
        typer.echo("" if with_secrets else REDACTED, nl=False)
        typer.echo(plan.to_yaml(objects), nl=False)


def _checked(texts: Sequence[DocumentText]) -> tuple[dict[str, list[str]], list[Problem]]:
    """Return the names of the MiniClusters in each text that is valid, and what is wrong with the others."""
    from minicluster.document import loading
    from minicluster.document.errors import DocumentError

    valid: dict[str, list[str]] = {}
    problems: list[Problem] = []
    for text in texts:
        try:
            clusters = loading.parse(text.text, source=text.source).clusters
        except DocumentError as error:
            problems += error.problems
            continue
        valid[text.source] = [each.metadata.name for each in clusters]
        problems += _unplannable(clusters, text.source)
        for notice in _nameless_gpus(clusters, text.source):
            PlainReporter().notice(notice)
    return valid, problems


def _nameless_gpus(clusters: Sequence[MiniCluster], source: str) -> Iterator[str]:
    """Yield a notice for each container whose resources name GPUs in a way that no broker counts."""
    from minicluster.document import rank_resources

    for cluster in clusters:
        for number, container in enumerate(cluster.spec.containers):
            for name in rank_resources.nameless_gpus(container.resources):
                path = f"spec.containers[{number}].resources"
                right = "those have a vendor's name, such as nvidia.com/gpu"
                yield f"{source}: {path}: {name} is no GPU; {right}"


def _unplannable(clusters: Sequence[MiniCluster], source: str) -> Iterator[Problem]:
    """Yield why no objects can be made of MiniClusters whose documents are valid."""
    from minicluster import plan
    from minicluster.document.errors import Problem

    for cluster in clusters:
        if problem := plan.problem(cluster, plan.Site()):
            yield Problem("spec", f"MiniCluster {cluster.metadata.name}: {problem}", source=source)


def _inapplicable(secret: dict[str, Any]) -> dict[str, Any]:
    """Return a redacted Secret in a form that an API server refuses: as `data` its texts are no base64.

    As `stringData` they would be taken for the certificate, and no broker would start with that.
    """
    return {key: value for key, value in secret.items() if key != "stringData"} | {
        "data": secret["stringData"]
    }


@app.command(cls=PlainCommand)
def crd(
    output: Annotated[
        Literal["yaml", "json-schema"],
        typer.Option("--output", "-o", help="json-schema: the document's JSON schema, for editors."),
    ] = "yaml",
) -> None:
    """Print the CustomResourceDefinition of MiniClusters.

    minicluster crd | kubectl apply --server-side -f -

    With `# yaml-language-server: $schema=minicluster.schema.json` in a document, editors check it:

    minicluster crd --output json-schema > minicluster.schema.json
    """
    import json

    from minicluster.document.definition import crd_yaml
    from minicluster.document.schema import json_schema

    if output == "json-schema":
        typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    else:
        typer.echo(crd_yaml(), nl=False)
