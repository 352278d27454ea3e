"""`minicluster tokens`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from minicluster.cli.help_text import PlainCommand, PlainGroup
from minicluster.cli.reporting import print_notice
from minicluster.cli.server_options import CaFileOption, ServerOption, client_of
from minicluster.cli.tables import OutputOption, echo, show

app = typer.Typer(name="tokens", cls=PlainGroup, add_completion=False, no_args_is_help=True)
COLUMNS = ("id", "name", "prefix", "scopes", "expires", "last_used")


@app.callback()
def tokens() -> None:
    """List, make and revoke your personal tokens: for programs, in place of your login.

    minicluster tokens list

    minicluster tokens create ci --scope jobs:submit --scope jobs:read --expires 30d > token

    minicluster tokens revoke 01JDX3
    """


@app.command("list", cls=PlainCommand)
def list_tokens(
    server: ServerOption = "", ca_file: CaFileOption = "", output: OutputOption = "table"
) -> None:
    """List your personal tokens, without their texts.

    minicluster tokens list --output json
    """
    with client_of(server, ca_file) as client:
        show([asdict(each) for each in client.tokens.all()], COLUMNS, output, "no tokens")


@app.command(cls=PlainCommand)
def create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        list[str], typer.Option("--scope", help="What it may do, like jobs:read; may be repeated.")
    ],
    expires: Annotated[
        str, typer.Option("--expires", metavar="FSD", help="It ends after 12h, 30d; by default 90 days.")
    ] = "",
    server: ServerOption = "",
    ca_file: CaFileOption = "",
    output: OutputOption = "table",
) -> None:
    """Make a personal token, and print its text, which nobody can show again.

    minicluster tokens create ci --scope jobs:submit --scope jobs:read --expires 30d > token
    """
    from minicluster.cli.job_requests import seconds

    lifetime = int(seconds(expires, "--expires")) if expires else None
    with client_of(server, ca_file) as client:
        made = client.tokens.create(name, scope, lifetime)
    if output == "json":
        show([{**asdict(made.record), "token": made.text}], (), output)
        return
    echo(made.text)
    print_notice(f"token {made.record.id} ends at {made.record.expires}; keep it, it is not shown again")


@app.command(cls=PlainCommand)
def revoke(
    token: Annotated[list[str], typer.Argument(metavar="ID", help="As `tokens list` prints.")],
    server: ServerOption = "",
    ca_file: CaFileOption = "",
) -> None:
    """End personal tokens: programs that have them are refused within seconds.

    minicluster tokens revoke 01JDX3
    """
    with client_of(server, ca_file) as client:
        for each in token:
            client.tokens.revoke(each)
            echo(f"token {each} is revoked")
