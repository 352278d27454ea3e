"""`minicluster burst-service`."""

from __future__ import annotations

from typing import Annotated

import typer

from burst.kubernetes import environment
from minicluster.cli.help_text import PlainCommand
from minicluster.cli.options import ContextOption, KubeconfigOption
from minicluster.cli.service_options import ANY_PORT, ListenOption, LogFormatOption, LogLevelOption, address

app = typer.Typer(add_completion=False)

ServiceSettingsOption = Annotated[
    str,
    typer.Option(
        "--settings", metavar="FILE", envvar=environment.SETTINGS, help="Providers and budgets, as YAML."
    ),
]
ServiceDatabaseOption = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="URL|file:PATH",
        envvar=environment.DATABASE,
        help="Of the ledger: PostgreSQL, a URL with a password in a file; by default SQLite in --state.",
    ),
]
ServiceFolderOption = Annotated[
    str,
    typer.Option(
        "--state", metavar="FOLDER", envvar=environment.STATE, help="Nobody else's, for what providers keep."
    ),
]
ServedNamespacesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NS",
        envvar=environment.NAMESPACES,
        help="Serve this namespace's only; may be repeated.",
    ),
]
KeysOption = Annotated[
    str,
    typer.Option(
        "--tokens-secret",
        metavar="NAMESPACE/NAME",
        envvar=environment.TOKENS_SECRET,
        help="The operator's keys for leads; by default minicluster-burst in this pod's namespace.",
    ),
]
LeaseOption = Annotated[
    str,
    typer.Option(
        "--lease",
        metavar="NAMESPACE/NAME",
        help="What the one that works holds; by default minicluster-burst in this pod's namespace.",
    ),
]


TunnelsOption = Annotated[
    str,
    typer.Option(
        "--tunnels",
        metavar="FILE",
        envvar=environment.TUNNELS,
        help="Template of the pods of tunnels, which run in this pod's namespace; by default there are none.",
    ),
]


@app.command("burst-service", cls=PlainCommand)
def burst_service(  # noqa: PLR0913, PLR0917 - an option each
    settings: ServiceSettingsOption = "",
    database: ServiceDatabaseOption = "",
    state: ServiceFolderOption = "",
    namespaces: ServedNamespacesOption = None,
    tokens_secret: KeysOption = "",
    lease: LeaseOption = "",
    tunnels: TunnelsOption = "",
    listen: ListenOption = ANY_PORT,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
) -> None:
    """Make bursts for MiniClusters of a Kubernetes cluster, from within it, until Ctrl-C or SIGTERM.

    Of several with one Lease one works, and the others stand by. For your own MiniClusters, with your own
    rights, there is `minicluster burst serve`.

      minicluster burst-service --settings burst.yaml --state /var/lib/burst

      minicluster burst-service --settings burst.yaml --state /var/lib/burst --database file:/etc/burst/url
    """
    _needed("--settings", settings)
    _needed("--state", state)
    where = address(listen)
    own_lease, secret = _of_service(lease, "--lease"), _of_service(tokens_secret, "--tokens-secret")

    from burst.kubernetes import process  # noqa: PLC0415 - the help comes without all this
    from burst.kubernetes.settings import BurstServiceSettings  # noqa: PLC0415
    from minicluster.kube_client.access import Access  # noqa: PLC0415
    from minicluster.kube_client.service_process import identity  # noqa: PLC0415

    paths = {
        environment.SETTINGS: settings,
        environment.STATE: state,
        environment.DATABASE: database,
        environment.TUNNELS: tunnels,
    }
    served = environment.opened(paths, namespaces or (), secret, Access(kubeconfig, context))
    chosen = BurstServiceSettings(
        workplace=served,
        lease=own_lease,
        listen=where,
        log_format=log_format,
        log_level=log_level,
        identity=identity(),
    )
    raise typer.Exit(process.run(chosen))


def _needed(option: str, value: str) -> None:
    if not value:
        variable = environment.PREFIX + option.removeprefix("--").upper()
        raise typer.BadParameter(f"is needed, or the variable {variable}", param_hint=option)


def _of_service(text: str, option: str) -> tuple[str, str]:
    """Return namespace and name of a Lease or Secret."""
    try:
        return environment.named(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
