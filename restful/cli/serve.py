"""`minicluster serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.options import EngineOption, NameOption
from minicluster.cli.service_options import LogLevelOption, address
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

app = typer.Typer(add_completion=False)


ServedDocumentArgument = Annotated[
    str,
    typer.Argument(
        metavar="[FILE]", help="The document of the cluster; - is standard input. None: the one that is up."
    ),
]
AddressOption = Annotated[
    str, typer.Option("--listen", metavar="ADDRESS:PORT", help="Where it is served; port 0: a free one.")
]
UrlOption = Annotated[
    str, typer.Option("--url", metavar="URL", help="Where users reach it, if not where it listens.")
]
StateOption = Annotated[
    str,
    typer.Option(
        "--state", metavar="FOLDER", help="Of the database and keys; by default ~/.local/state/minicluster."
    ),
]
LoginOption = Annotated[
    bool, typer.Option("--auth/--no-auth", help="On 127.0.0.1 requests may need no login.")
]
LoginLinkOption = Annotated[
    str,
    typer.Option(
        "--login-link",
        metavar="USER",
        help="Print a link that logs in as this user, once, and end; the service may run meanwhile.",
    ),
]
OversubscribeOption = Annotated[
    bool, typer.Option("--oversubscribe", help="Start more brokers than this machine should have.")
]


@app.command(cls=PlainCommand)
def serve(  # noqa: PLR0913, PLR0917 - an option each
    document: ServedDocumentArgument = "",
    listen: AddressOption = LISTEN,
    url: UrlOption = "",
    certificate: CertificateOption = "",
    key: KeyOption = "",
    proxies: ProxiesOption = None,
    state: StateOption = "",
    login: LoginOption = True,
    oidc_issuer: OidcIssuerOption = "",
    oidc_client: OidcClientOption = "",
    oidc_secret: OidcSecretOption = "",
    pam: PamOption = "",
    pam_allow: PamAllowOption = None,
    session_lifetime: SessionLifetimeOption = SESSION_LIFETIME,
    login_link: LoginLinkOption = "",
    engine: EngineOption = "auto",
    name: NameOption = "",
    oversubscribe: OversubscribeOption = False,
    log_level: LogLevelOption = "warning",
) -> None:
    """Serve a cluster of this machine to many users, over HTTP, until Ctrl-C or SIGTERM.

    A document's cluster is started, unless it is up. It stays up at the end, with its jobs.

      minicluster serve cluster.yaml

      minicluster serve --listen :8443 --url https://mc.example --tls-cert mc.pem --tls-key mc.key

      minicluster serve --no-auth --listen 127.0.0.1:0

    Users have a name and a password here, or log in at an OpenID provider, where this service's address with
    /callback is to be entered, or by PAM: people of this machine, but you only where --pam-allow names you.

    Each start prints a link that lets one in as an admin, once, as long as no admin can log in.
    Where a password is forgotten, --login-link does, for who owns the state directory:

      minicluster serve --login-link admin

    All jobs run as you: a user who can read a job's files can read everybody's.
    """
    host, port = address(listen)

    from restful.cli import login_options, packages  # noqa: PLC0415 - the help comes without all this
    from restful.cli.endpoint import ServeEndpoint, check  # noqa: PLC0415

    endpoint = ServeEndpoint(host, port, certificate, key, tuple(proxies or ()), url, login)
    check(endpoint)
    texts = (oidc_issuer, oidc_client, oidc_secret, pam)
    logins = login_options.given(texts, pam_allow, session_lifetime, login=login)
    packages.require("serve")
    if login_link:
        _print_link(endpoint, state, login_link)
        return

    from restful.cli.clusters import ClusterChoice  # noqa: PLC0415
    from restful.cli.process import ServeRequest, run  # noqa: PLC0415

    choice = ClusterChoice(document, name, engine, oversubscribe)
    run(ServeRequest(endpoint, choice, state, log_level, logins))


def _print_link(endpoint: ServeEndpoint, state_directory: str, user: str) -> None:
    import asyncio  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from restful.cli import state  # noqa: PLC0415
    from restful.cli.login_link import login_link  # noqa: PLC0415
    from restful.cli.process import show  # noqa: PLC0415
    from restful.identity.settings import IdentitySettings  # noqa: PLC0415

    directory = state.opened(Path(state_directory) if state_directory else state.default())
    typer.echo(asyncio.run(login_link(directory, endpoint, user)))
    show(f"it logs in once, within {round(IdentitySettings().link_lifetime / 60)} minutes")
