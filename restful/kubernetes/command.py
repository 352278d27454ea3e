"""`minicluster rest-api`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from minicluster.cli.help_text import PlainCommand, PlainGroup
from minicluster.cli.option_errors import reworded
from minicluster.cli.options import ContextOption, KubeconfigOption
from minicluster.cli.service_options import ANY_PORT, LogFormatOption, LogLevelOption, address
from restful.cli.login_options import (
    SESSION_LIFETIME,
    OidcClientOption,
    OidcIssuerOption,
    OidcSecretOption,
    PamAllowOption,
    PamOption,
    SessionLifetimeOption,
)
from restful.cli.serving_options import LISTEN, CertificateOption, KeyOption, ProxiesOption

if TYPE_CHECKING:
    from restful.cli.endpoint import ServeEndpoint
    from restful.cli.login_options import LoginOptions

SECRET = "minicluster-jobs"  # noqa: S105 - the name of an object
INSTALLED = "minicluster-system"
"""The namespace into which the shipped manifests install the operator."""
PREFIX = "MINICLUSTER_REST_"
LINK_PATH = "/login/link"


class RestApiGroup(PlainGroup):
    """A command that does something itself, and has commands of its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line. Raises BadParameter, UsageError."""
        with reworded():
            return super().parse_args(ctx, args)


app = typer.Typer(name="rest-api", cls=RestApiGroup, add_completion=False)

DatabaseOption = Annotated[
    str,
    typer.Option(
        metavar="URL|file:PATH",
        envvar=f"{PREFIX}DATABASE",
        help="PostgreSQL, or SQLite for one replica; a URL with a password is in a file.",
    ),
]
MasterKeyOption = Annotated[
    str,
    typer.Option(
        metavar="FILE", envvar=f"{PREFIX}MASTER_KEY", help="32 random bytes, the same for all replicas."
    ),
]
PublicUrlOption = Annotated[
    str, typer.Option(metavar="URL", envvar=f"{PREFIX}URL", help="Where users reach it: https://HOST.")
]
ServiceAddressOption = Annotated[
    str, typer.Option(metavar="ADDRESS:PORT", help="Where it is served; :8443 is every address.")
]
HostNamesOption = Annotated[
    list[str] | None,
    typer.Option("--host-name", metavar="NAME", help="A further name it is called by; may be repeated."),
]
NamespacesOption = Annotated[
    list[str] | None,
    typer.Option("--namespace", "-n", metavar="NS", help="Serve this namespace's only; may be repeated."),
]
SecretOption = Annotated[
    str,
    typer.Option(
        "--tokens-secret",
        metavar="NAMESPACE/NAME",
        help=f"The operator's keys for leads; by default {SECRET} in this pod's namespace.",
    ),
]
TenancyOption = Annotated[
    Literal["shared", "own"],
    typer.Option("--tenancy-default", help="Of MiniClusters without the annotation."),
]
MetricsOption = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS:PORT", help="Where /metrics, /healthz and /readyz are served, without TLS."
    ),
]


@app.callback(invoke_without_command=True)
def rest_api(  # noqa: PLR0913, PLR0917 - an option each
    ctx: typer.Context,
    database: DatabaseOption = "",
    master_key: MasterKeyOption = "",
    listen: ServiceAddressOption = LISTEN,
    url: PublicUrlOption = "",
    host_name: HostNamesOption = None,
    certificate: CertificateOption = "",
    key: KeyOption = "",
    proxies: ProxiesOption = None,
    namespaces: NamespacesOption = None,
    tokens_secret: SecretOption = "",
    tenancy: TenancyOption = "shared",
    oidc_issuer: OidcIssuerOption = "",
    oidc_client: OidcClientOption = "",
    oidc_secret: OidcSecretOption = "",
    pam: PamOption = "",
    pam_allow: PamAllowOption = None,
    session_lifetime: SessionLifetimeOption = SESSION_LIFETIME,
    metrics_listen: MetricsOption = ANY_PORT,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
) -> None:
    """Serve MiniClusters of a Kubernetes cluster to many users, over HTTPS, until Ctrl-C or SIGTERM.

    A MiniCluster is called NAMESPACE.NAME there. It needs the right to list and watch MiniClusters, and to
    get the one Secret with the operator's keys for jobs.

      minicluster rest-api migrate --database file:url

      minicluster rest-api --database file:url --master-key key --url https://mc.example --behind-proxy ::1
    """
    if ctx.invoked_subcommand is not None:
        return
    _required("--database", database)
    _required("--master-key", master_key)
    endpoint = _endpoint(listen, (certificate, key), proxies or (), url)
    logins = _logins((oidc_issuer, oidc_client, oidc_secret, pam), pam_allow, session_lifetime)
    metrics, secret = address(metrics_listen, "--metrics-listen"), _secret(tokens_secret)
    _require_packages()

    from minicluster.kube_client.access import Access  # noqa: PLC0415 - the help comes without all this
    from minicluster.kube_client.service_process import identity  # noqa: PLC0415
    from restful.clusters.spec import Tenancy  # noqa: PLC0415
    from restful.kubernetes import process  # noqa: PLC0415
    from restful.kubernetes.settings import RestApiSettings, database_url  # noqa: PLC0415

    database_url(database)  # a mistake there is one of this command line
    settings = RestApiSettings(
        access=Access(kubeconfig, context), namespaces=tuple(dict.fromkeys(namespaces or ())), secret=secret,
        tenancy=Tenancy(tenancy), database=database, master_key=Path(master_key), endpoint=endpoint,
        host_names=tuple(host_name or ()), metrics=metrics, logins=logins, log_format=log_format,
        log_level=log_level, identity=identity(),
    )  # fmt: skip
    raise typer.Exit(process.run(settings))


@app.command(cls=PlainCommand)
def migrate(database: DatabaseOption = "") -> None:
    """Make the tables of this release in a database, new or of an older release; else do nothing.

    minicluster rest-api migrate --database file:/etc/rest/url
    """
    _required("--database", database)
    _require_packages()

    from restful.kubernetes import administration  # noqa: PLC0415

    administration.migrate_database(database)


@app.command("admin-link", cls=PlainCommand)
def admin_link(
    database: DatabaseOption = "", master_key: MasterKeyOption = "", url: PublicUrlOption = ""
) -> None:
    """Print a link that lets one in as the admin, once; as long as no admin has logged in.

    kubectl exec deploy/minicluster-rest -- minicluster rest-api admin-link
    """
    _required("--database", database)
    _required("--master-key", master_key)
    _required("--url", url)
    _require_packages()

    from restful.kubernetes import administration  # noqa: PLC0415

    link = administration.first_admin_link(database, Path(master_key), url)
    typer.echo(f"{url.rstrip('/')}{LINK_PATH}?token={link}")


def _required(option: str, value: str) -> None:
    from restful.cli.errors import WrongOptions  # noqa: PLC0415 - the help comes without

    if not value:
        variable = PREFIX + option.removeprefix("--").replace("-", "_").upper()
        raise WrongOptions(f"{option} is needed, or the variable {variable}")


def _logins(
    texts: tuple[str, str, str, str], allowed: Sequence[str] | None, session_lifetime: str
) -> LoginOptions:
    from restful.cli import login_options  # noqa: PLC0415

    return login_options.given(texts, allowed, session_lifetime, login=True)


def _endpoint(listen: str, certificate: tuple[str, str], proxies: Sequence[str], url: str) -> ServeEndpoint:
    from restful.cli.endpoint import ServeEndpoint, check  # noqa: PLC0415

    made = ServeEndpoint(*address(listen), *certificate, tuple(proxies), url)
    check(made)
    return made


def _secret(text: str) -> tuple[str, str]:
    namespace, _, name = (text or f"{os.environ.get('POD_NAMESPACE') or INSTALLED}/{SECRET}").partition("/")
    if not namespace or not name or "/" in name:
        message = f"{text}: needed is NAMESPACE/NAME, such as {INSTALLED}/{SECRET}"
        raise typer.BadParameter(message, param_hint="--tokens-secret")
    return namespace, name


def _require_packages() -> None:
    from restful.cli.packages import require  # noqa: PLC0415

    require("rest-api")
