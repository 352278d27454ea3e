"""`minicluster metrics-adapter`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.options import ContextOption, KubeconfigOption  # noqa: TC001  # typer reads annotations
from minicluster.cli.service_options import (
    ANY_PORT,
    ListenOption,
    LogFormatOption,
    LogLevelOption,
    address,
    is_port,
)

if TYPE_CHECKING:
    from metrics_api.adapter.registration import ServiceReference

app = typer.Typer(add_completion=False)
SERVICE = "minicluster-system/minicluster-operator-adapter"
"""As the shipped manifests make it."""


@app.command("metrics-adapter", cls=PlainCommand)
def metrics_adapter(  # noqa: PLR0913, PLR0917 - an option each
    namespaces: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", metavar="NS", help="Serve this namespace's only; may be repeated."),
    ] = None,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    service: Annotated[
        str,
        typer.Option(
            metavar="NAMESPACE/NAME[:PORT]",
            help="The Service by which the API server finds the adapter; its Secrets are in that namespace.",
        ),
    ] = SERVICE,
    owner: Annotated[
        str, typer.Option(metavar="NAME", help="The ClusterRole with which the APIServices are to go.")
    ] = "",
    listen: ListenOption = ANY_PORT,
    door_port: Annotated[int, typer.Option(hidden=True)] = 0,
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
) -> None:
    """Serve the queues of MiniClusters as custom and external metrics, until Ctrl-C or SIGTERM.

    The API server passes requests on to it: the autoscaler, or `kubectl get --raw`, asks for instance for
    /apis/custom.metrics.k8s.io/v1beta2/namespaces/NS/miniclusters.flux-framework.org/NAME/flux_nodes_demanded

      minicluster metrics-adapter --listen :6443 --service minicluster-system/minicluster-operator-adapter
    """
    endpoint, reference = address(listen), _reference(service)

    from metrics_api.adapter import adapter  # noqa: PLC0415 - the help comes without all this
    from metrics_api.adapter.settings import AdapterSettings  # noqa: PLC0415
    from minicluster.kube_client.access import Access  # noqa: PLC0415
    from minicluster.kube_client.service_process import identity  # noqa: PLC0415
    from minicluster.plan.constants import LEAD_API_PORT  # noqa: PLC0415

    settings = AdapterSettings(
        access=Access(kubeconfig, context),
        namespaces=tuple(dict.fromkeys(namespaces or ())),
        service=reference,
        listen=endpoint,
        owner=owner,
        log_format=log_format,
        log_level=log_level,
        identity=identity(),
        lead_api_port=door_port or LEAD_API_PORT,
    )
    raise typer.Exit(adapter.run(settings))


def _reference(text: str) -> ServiceReference:
    from metrics_api.adapter.registration import ServiceReference  # noqa: PLC0415

    whole, colon, port = text.partition(":")
    namespace, _, name = whole.partition("/")
    if not namespace or not name or "/" in name or (colon and not is_port(port)):
        message = f"{text}: needed is NAMESPACE/NAME or NAMESPACE/NAME:PORT, such as {SERVICE}"
        raise typer.BadParameter(message, param_hint="--service")
    return ServiceReference(namespace, name, int(port) if colon else 443)
