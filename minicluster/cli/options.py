"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

Engine = Literal["auto", "flux", "embedded"]
Document = Annotated[str, typer.Argument(metavar="FILE", help="The document; - is standard input.")]
Size = Annotated[int | None, typer.Option("--size", min=1, help="Number of brokers, in place of spec.size.")]
EngineOption = Annotated[
    Engine, typer.Option("--engine", help="What runs the brokers; auto: real Flux where it is on PATH.")
]
Name = Annotated[str, typer.Option("--name", help="Which MiniCluster, where the file has several.")]
ClusterName = Annotated[str, typer.Argument(metavar="NAME", help="The cluster, see `minicluster list`.")]
On = Annotated[
    Literal["local", "kubernetes"],
    typer.Option("--on", envvar="MINICLUSTER_ON", help="This machine, or a Kubernetes cluster."),
]
Namespace = Annotated[
    str,
    typer.Option("--namespace", "-n", metavar="NS", help="Kubernetes: in place of the context's namespace."),
]
LongNamespace = Annotated[  # where -n is the number of tasks, as for flux submit
    str, typer.Option("--namespace", metavar="NS", help="Kubernetes: in place of the context's namespace.")
]
Context = Annotated[
    str, typer.Option("--context", metavar="NAME", help="Kubernetes: in place of the current context.")
]
Kubeconfig = Annotated[
    str,
    typer.Option(
        "--kubeconfig", metavar="FILE", help="Kubernetes: in place of $KUBECONFIG and ~/.kube/config."
    ),
]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Kubernetes: wait until it is done, telling each stage.")
]
UpWait = Annotated[
    bool | None,
    typer.Option(
        "--wait/--no-wait",
        help="Kubernetes: --wait until the main command has ended, --no-wait not at all; else until it runs.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", min=0.001, help="Kubernetes: wait no longer; then 124."),
]
