"""`minicluster login` and `minicluster logout`."""

from __future__ import annotations

import contextlib
import getpass
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.reporting import print_notice, print_warning
from minicluster.cli.server_options import CaFileOption, ServerOption, server_named
from minicluster.cli.tables import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minicluster.client.connection import ServiceConnection
    from minicluster.client.logins import Login

app = typer.Typer(add_completion=False)
_LINK = re.compile(r"(https?://\S+)/login/link\?token=([\w-]+)")


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
    link_stdin: Annotated[
        bool, typer.Option("--link-stdin", help="Read a link that logs in once from standard input.")
    ] = False,
    user: Annotated[
        str, typer.Option("--user", metavar="NAME", help="By this name, and a password from standard input.")
    ] = "",
    ca_file: CaFileOption = "",
) -> None:
    """Log in to a server, for the commands with --on server, and for programs.

    It prints a code and an address, where you approve it in a browser on any machine. The login is stored
    in ~/.config/minicluster, for you alone. MINICLUSTER_TOKEN, with a personal token, needs no login.

      minicluster login --server https://mc.example.org

    Without a browser a token, a password or a link does. The first admin has a link:

      minicluster login --server https://mc.example.org --token-stdin < token

      minicluster login --server https://mc.example.org --user alice < password

      minicluster serve --login-link admin | minicluster login --link-stdin
    """
    from minicluster.client import oauth

    ways = {"--token-stdin": token_stdin, "--link-stdin": link_stdin, "--user": bool(user)}
    _need_one(ways, scope)
    link = _link(sys.stdin.read()) if link_stdin else None
    address = _address(server or (link.server if link is not None else ""))
    if link is not None and address != _address(link.server):
        raise typer.BadParameter(f"the link is of {link.server}, and good there alone", param_hint="--server")
    ca_file = str(Path(ca_file).expanduser().absolute()) if ca_file else ""
    scopes = " ".join(scope or ())
    if link is not None:
        found = _granted(address, ca_file, lambda there: oauth.by_link(there, link.token))
    elif token_stdin:
        found = _given(sys.stdin.read(), ca_file)
    elif user:
        password = _password()
        found = _granted(address, ca_file, lambda there: oauth.by_password(there, user, password, scopes))
    else:
        found = _granted(address, ca_file, lambda there: _approved(there, scopes))
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


class _Link(NamedTuple):
    """A link that logs in once."""

    server: str
    token: str


def _need_one(ways: Mapping[str, bool], scope: Sequence[str] | None) -> None:
    """Raise BadParameter for several ways to log in, and for a scope where it has no meaning."""
    given = [option for option, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise typer.BadParameter("is one way to log in: give one", param_hint=" and ".join(given))
    if scope and given not in ([], ["--user"]):
        raise typer.BadParameter(f"has a meaning only without {given[0]}", param_hint="--scope")


def _address(server: str) -> str:
    from minicluster.client.addresses import server_of

    if not server:
        raise typer.BadParameter("is needed, or MINICLUSTER_SERVER", param_hint="--server")
    return server_of(server)


def _link(text: str) -> _Link:
    """Return a link that was given; the server is what stands before its path."""
    found = _LINK.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(
            "standard input has no link; one is an address that ends with /login/link?token=…",
            param_hint="--link-stdin",
        )
    return _Link(found[1], found[2])


def _password() -> str:
    if sys.stdin.isatty():
        return getpass.getpass()
    found = sys.stdin.readline().rstrip("\r\n")
    if not found:
        raise typer.BadParameter("standard input is empty; it has the password", param_hint="--user")
    return found


def _given(text: str, ca_file: str) -> Login:
    """Return a login of a token that was given. Raises NotLoggedIn where it is none."""
    from minicluster.client.http_session import checked_token
    from minicluster.client.logins import Login

    if not text.strip():
        raise typer.BadParameter("standard input is empty; it has the token", param_hint="--token-stdin")
    return Login(checked_token(text), ca_file=ca_file)


def _granted(server: str, ca_file: str, ask: Callable[[ServiceConnection], Login]) -> Login:
    """Return the login that a server gives. Raises LoginFailed."""
    from minicluster.client.connection import ServiceConnection

    with contextlib.closing(ServiceConnection(server, ca_file=ca_file)) as connection:
        return ask(connection)


def _approved(connection: ServiceConnection, scope: str) -> Login:
    """Return the login that the user approves. Raises LoginFailed."""
    from minicluster.client import oauth

    code = oauth.device_code(connection, scope)
    echo(f"Open {code.verification_uri} and type the code {code.user_code}")
    if code.verification_uri_complete:
        echo(f"or open {code.verification_uri_complete}")
    print_notice(f"waiting for {code.expires_in / 60:.0f} minutes; Ctrl-C ends it")
    return oauth.approved(connection, code)


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
