"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

DocumentArgument = Annotated[str, typer.Argument(metavar="FILE", help="The document; - is standard input.")]
SizeOption = Annotated[
    int | None, typer.Option("--size", min=1, metavar="BROKERS", help="How many, in place of spec.size.")
]
EngineOption = Annotated[
    Literal["auto", "flux", "embedded"],
    typer.Option("--engine", help="What runs the brokers; auto: real Flux where it is on PATH."),
]
NameOption = Annotated[
    str,
    typer.Option(
        "--name", metavar="NAME", help="Which MiniCluster, where the file has several; renames none."
    ),
]


def _timeout(text: str) -> float:
    from minicluster.backends import timeouts

    return timeouts.seconds(text)


TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        parser=_timeout,
        metavar="FSD",
        help="End it after 30s, 5m, 1.5h; without a unit seconds.",
    ),
]
ClusterArgument = Annotated[str, typer.Argument(metavar="NAME", help="The cluster, see `minicluster list`.")]
ContextOption = Annotated[
    str, typer.Option("--context", metavar="CONTEXT", help="Kubernetes: in place of the current context.")
]
KubeconfigOption = Annotated[
    str,
    typer.Option(
        "--kubeconfig", metavar="FILE", help="Kubernetes: in place of $KUBECONFIG and ~/.kube/config."
    ),
]
