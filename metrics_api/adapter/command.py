"""`minicluster metrics-adapter`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from minicluster.cli.options import Context, Kubeconfig  # noqa: TC001  # typer reads annotations

if TYPE_CHECKING:
    from metrics_api.adapter.registration import Place

app = typer.Typer(add_completion=False)
LISTEN = "127.0.0.1:6443"
SERVICE = "minicluster-system/minicluster-operator-adapter"
"""As the shipped manifests make it."""


@app.command("metrics-adapter")
def metrics_adapter(  # noqa: PLR0913, PLR0917 - an option each
    namespaces: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", metavar="NS", help="Serve this namespace's only; may be repeated."),
    ] = None,
    context: Context = "",
    kubeconfig: Kubeconfig = "",
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
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS:PORT", help="Where metrics, /healthz and /readyz are served.")
    ] = LISTEN,
    door_port: Annotated[int, typer.Option(hidden=True)] = 0,
    log_format: Annotated[
        Literal["text", "json"], typer.Option(help="One line, or one object, a fact.")
    ] = "text",
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option(help="What is worth a line.")
    ] = "info",
) -> None:
    """Serve the queues of MiniClusters as custom and external metrics, until Ctrl-C or SIGTERM.

    The API server passes requests on to it: the autoscaler, or `kubectl get --raw`, asks for instance for
    /apis/custom.metrics.k8s.io/v1beta2/namespaces/NS/miniclusters.flux-framework.org/NAME/flux_nodes_demanded

      minicluster metrics-adapter --listen :6443 --service minicluster-system/minicluster-operator-adapter
    """
    address, place = _address(listen), _place(service)

    import os  # noqa: PLC0415 - the help comes without all this
    import secrets  # noqa: PLC0415
    import socket  # noqa: PLC0415

    from metrics_api.adapter import adapter  # noqa: PLC0415
    from metrics_api.adapter.settings import Settings  # noqa: PLC0415
    from minicluster.kubernetes.access import Access  # noqa: PLC0415
    from minicluster.plan.constants import DOOR_PORT  # noqa: PLC0415

    settings = Settings(
        access=Access(kubeconfig, context),
        namespaces=tuple(dict.fromkeys(namespaces or ())),
        place=place,
        listen=address,
        owner=owner,
        log_format=log_format,
        log_level=log_level,
        identity=f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}",
        door_port=door_port or DOOR_PORT,
    )
    raise typer.Exit(adapter.run(settings))


def _place(text: str) -> Place:
    from metrics_api.adapter.registration import Place  # noqa: PLC0415

    whole, colon, port = text.partition(":")
    namespace, _, name = whole.partition("/")
    if not namespace or not name or "/" in name or (colon and not _is_port(port)):
        message = f"{text}: needed is NAMESPACE/NAME or NAMESPACE/NAME:PORT, such as {SERVICE}"
        raise typer.BadParameter(message, param_hint="--service")
    return Place(namespace, name, int(port) if colon else 443)


def _address(text: str) -> tuple[str, int]:
    """Return address and port of a text such as `127.0.0.1:6443`, `:6443` or `[::1]:6443`."""
    address, colon, port = text.rpartition(":")
    if not colon or not _is_port(port, least=0) or (":" in address and "[" not in address):
        message = f"{text}: needed is ADDRESS:PORT, such as {LISTEN}; :6443 means every address"
        raise typer.BadParameter(message, param_hint="--listen")
    return address.strip("[]"), int(port)


def _is_port(text: str, least: int = 1) -> bool:
    return text.isdecimal() and least <= int(text) <= 65535
