"""Which server of the RESTful API a command works with, and the client for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from minicluster.client import Client

ServerOption = Annotated[
    str,
    typer.Option(
        "--server",
        metavar="URL",
        envvar="MINICLUSTER_SERVER",
        help="Its address; needed where you are logged in to several.",
    ),
]
CaFileOption = Annotated[
    str,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        help="Certificates (PEM) of those who may vouch for it, not the usual ones.",
    ),
]


def server_named(text: str) -> str:
    """Return the address that was given, else that of the only login. Raises BadParameter, ClientError."""
    from minicluster.client.addresses import server_of
    from minicluster.client.logins import LoginFile

    if text:
        return server_of(text)
    found = LoginFile().servers()
    if len(found) == 1:
        return found[0]
    known = f"you are logged in to {', '.join(found)}" if found else "you are not logged in to any"
    raise typer.BadParameter(f"is needed: {known}", param_hint="--server")


def client_of(server: str, ca_file: str) -> Client:
    """Return a client. Raises BadParameter, ClientError."""
    from minicluster.client import Client
    from minicluster.client.retries import RetryPolicy

    return Client(server_named(server), ca_file=ca_file, retry=RetryPolicy(seconds=20))
