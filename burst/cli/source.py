"""Which MiniClusters commands about bursts mean: options that all of them have, beside their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from minicluster.cli.help_text import PlainCommand

if TYPE_CHECKING:
    from burst.clusters.records import ClusterSource

KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """The MiniClusters of this machine, or those of a Kubernetes cluster; empty: as its context has it."""

    on: str = "local"
    namespace: str = ""
    all_namespaces: bool = False
    context: str = ""
    kubeconfig: str = ""

    def open(self) -> ClusterSource:
        """Return what finds them. Blocks; raises BackendError."""
        if self.on != KUBERNETES:
            from burst.clusters.local_clusters import LocalClusters

            return LocalClusters()
        from burst.clusters.kubernetes_clusters import KubernetesClusters, NamespaceChoice
        from minicluster.kube_client.access import Access

        access = Access(self.kubeconfig, self.context)
        return KubernetesClusters(NamespaceChoice(access, self.namespace, self.all_namespaces))


class SourceCommand(PlainCommand):
    """A command with the options of SourceChoice; in its context's `obj` is what they choose."""

    def __init__(self, *arguments: Any, params: list[Any] | None = None, **about: Any) -> None:
        shared = _shared_parameters()
        self._shared = [each.name for each in shared]
        super().__init__(*arguments, params=[*(params or ()), *shared], **about)

    def invoke(self, ctx: Any) -> Any:
        """Run it. Raises BadParameter for an option that has no meaning for this machine."""
        given = {name: ctx.params.pop(name) for name in self._shared}
        if given["on"] != KUBERNETES:
            for name, value in given.items():
                if value and name != "on":
                    option = f"--{name.replace('_', '-')}"
                    raise typer.BadParameter(f"has a meaning only with --on {KUBERNETES}", param_hint=option)
        ctx.obj = SourceChoice(**given)
        return super().invoke(ctx)


def _options(
    *,
    on: Annotated[
        Literal["local", "kubernetes"],
        typer.Option("--on", envvar="MINICLUSTER_ON", help="This machine, or a Kubernetes cluster."),
    ] = "local",
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace", "-n", metavar="NS", help="Kubernetes: in place of the context's namespace."
        ),
    ] = "",
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Kubernetes: those of every namespace.")
    ] = False,
    context: Annotated[
        str,
        typer.Option("--context", metavar="CONTEXT", help="Kubernetes: in place of the current context."),
    ] = "",
    kubeconfig: Annotated[
        str,
        typer.Option(
            "--kubeconfig", metavar="FILE", help="Kubernetes: in place of $KUBECONFIG and ~/.kube/config."
        ),
    ] = "",
) -> None:
    """Have the arguments of a SourceChoice."""


def _shared_parameters() -> list[Any]:
    """Return the parameters that typer makes of these arguments."""
    app = typer.Typer(add_completion=False)
    app.command()(_options)
    return list(typer.main.get_command(app).params)
