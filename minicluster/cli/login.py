"""`minicluster login` and `minicluster logout`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.reporting import print_notice, print_warning
from minicluster.cli.server_options import CaFileOption, ServerOption, server_named
from minicluster.cli.tables import echo

if TYPE_CHECKING:
    from minicluster.client.logins import Login

app = typer.Typer(add_completion=False)


@app.command(cls=PlainCommand)
def login(
    server: Annotated[
        str, typer.Option("--server", metavar="URL", envvar="MINICLUSTER_SERVER", help="Its address.")
    ] = "",
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="Only this of what you may do, like jobs:read; may be repeated."),
    ] = None,
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read a personal token from standard input.")
    ] = False,
    ca_file: CaFileOption = "",
) -> None:
    """Log in to a server, for the commands with --on server, and for programs.

    It prints a code and an address, where you approve it in a browser on any machine. The login is stored
    in ~/.config/minicluster, for you alone. MINICLUSTER_TOKEN, with a personal token, needs no login.

      minicluster login --server https://mc.example.org

      minicluster login --server https://mc.example.org --token-stdin < token
    """
    from minicluster.client.addresses import server_of

    if not server:
        raise typer.BadParameter("is needed, or MINICLUSTER_SERVER", param_hint="--server")
    if token_stdin and scope:
        raise typer.BadParameter("has a meaning only without --token-stdin", param_hint="--scope")
    address = server_of(server)
    ca_file = str(Path(ca_file).expanduser().absolute()) if ca_file else ""
    if token_stdin:
        found = _given(sys.stdin.read(), ca_file)
    else:
        found = _approved(address, " ".join(scope or ()), ca_file)
    who = _user(address, found)
    _store(address, found)
    echo(f"logged in to {address}{who}")


@app.command(cls=PlainCommand)
def logout(server: ServerOption = "") -> None:
    """End the login to a server, and forget it.

    A personal token is forgotten only: `minicluster tokens revoke` ends it.

    minicluster logout --server https://mc.example.org
    """
    from minicluster.client.logins import LoginFile

    address = server_named(server)
    with LoginFile().locked() as logins:
        found = logins.pop(address, None)
    if found is None:
        raise typer.BadParameter(f"you are not logged in to {address}", param_hint="--server")
    _revoke(address, found)
    echo(f"logged out of {address}")


def _given(text: str, ca_file: str) -> Login:
    """Return a login of a token that was given. Raises NotLoggedIn where it is none."""
    from minicluster.client.http_session import checked_token
    from minicluster.client.logins import Login

    if not text.strip():
        raise typer.BadParameter("standard input is empty; it has the token", param_hint="--token-stdin")
    return Login(checked_token(text), ca_file=ca_file)


def _approved(server: str, scope: str, ca_file: str) -> Login:
    """Return the login that the user approves. Raises LoginFailed."""
    from minicluster.client import oauth
    from minicluster.client.connection import ServiceConnection

    connection = ServiceConnection(server, ca_file=ca_file)
    try:
        code = oauth.device_code(connection, scope)
        echo(f"Open {code.verification_uri} and type the code {code.user_code}")
        if code.verification_uri_complete:
            echo(f"or open {code.verification_uri_complete}")
        print_notice(f"waiting for {code.expires_in / 60:.0f} minutes; Ctrl-C ends it")
        return oauth.approved(connection, code)
    finally:
        connection.close()


def _user(server: str, found: Login) -> str:
    """Return as whom one is logged in. Raises Unauthenticated where the token is not good."""
    from minicluster.client import Client

    with Client(server, found.token, ca_file=found.ca_file) as client:
        me = client.me()
    return f" as {me.get('name')} ({me.get('role')})"


def _store(server: str, found: Login) -> None:
    from minicluster.client.logins import LoginFile

    with LoginFile().locked() as logins:
        logins[server] = found


def _revoke(server: str, found: Login) -> None:
    """End a login at its server; where that cannot be reached, it ends by itself."""
    from minicluster.client import ClientError, oauth
    from minicluster.client.connection import ServiceConnection
    from minicluster.client.retries import RetryPolicy

    if not found.refresh_token:
        return
    connection = ServiceConnection(server, ca_file=found.ca_file, retry=RetryPolicy(seconds=10))
    try:
        oauth.revoke(connection, found.refresh_token)
    except ClientError as error:
        print_warning(f"forgotten here; at the server it ends by itself: {error}")
    finally:
        connection.close()
