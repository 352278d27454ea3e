"""`minicluster users`, for administrators of a server."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from minicluster.cli.help_text import PlainCommand, PlainGroup
from minicluster.cli.server_options import CaFileOption, ServerOption, client_of
from minicluster.cli.tables import OutputOption, echo, show

if TYPE_CHECKING:
    from minicluster.client import Client

app = typer.Typer(name="users", cls=PlainGroup, add_completion=False, no_args_is_help=True)
COLUMNS = ("name", "role", "state", "display", "email", "created")
_Role = Literal["", "user", "operator", "admin"]
_State = Literal["", "active", "locked", "disabled"]
NameArgument = Annotated[str, typer.Argument(metavar="USER", help="The name that he logs in with.")]
DisplayOption = Annotated[str, typer.Option("--display", help="The name as it is shown.")]
EmailOption = Annotated[str, typer.Option("--email", help="For messages to him.")]
PasswordOption = Annotated[
    bool, typer.Option("--password-stdin", help="Read a password from standard input; else he has none.")
]


@app.callback()
def users() -> None:
    """List and change the users of a server. For its administrators.

    minicluster users list

    minicluster users create alice --email alice@example.org --password-stdin < password

    minicluster users change alice --role operator
    """


@app.command("list", cls=PlainCommand)
def list_users(server: ServerOption = "", ca_file: CaFileOption = "", output: OutputOption = "table") -> None:
    """List the users.

    minicluster users list --output json
    """
    with client_of(server, ca_file) as client:
        show([asdict(each) for each in client.users.all()], COLUMNS, output, "no users")


@app.command(cls=PlainCommand)
def create(
    name: NameArgument,
    role: Annotated[
        Literal["user", "operator", "admin"], typer.Option("--role", help="What he may do.")
    ] = "user",
    display: DisplayOption = "",
    email: EmailOption = "",
    password_stdin: PasswordOption = False,
    server: ServerOption = "",
    ca_file: CaFileOption = "",
) -> None:
    """Make a user. Without a password he logs in by a provider, or by a link.

    minicluster users create alice --email alice@example.org --password-stdin < password
    """
    given = _given(display=display, email=email, password=_password(password_stdin))
    with client_of(server, ca_file) as client:
        found = client.users.create(name, role, **given)
    echo(f"user {found.name} is there, with the role {found.role}")


@app.command(cls=PlainCommand)
def change(  # noqa: PLR0913, PLR0917 - an option each
    name: NameArgument,
    role: Annotated[
        _Role, typer.Option("--role", metavar="user|operator|admin", help="What he may do.")
    ] = "",
    state: Annotated[
        _State,
        typer.Option("--state", metavar="active|locked|disabled", help="Whether he may log in."),
    ] = "",
    display: DisplayOption = "",
    email: EmailOption = "",
    password_stdin: PasswordOption = False,
    server: ServerOption = "",
    ca_file: CaFileOption = "",
) -> None:
    """Change a user. Another role, state or password ends what he is logged in with.

    minicluster users change alice --state disabled
    """
    given = _given(role=role, state=state, display=display, email=email, password=_password(password_stdin))
    if not given:
        raise typer.BadParameter("give what shall be otherwise, such as --role", param_hint="USER")
    with client_of(server, ca_file) as client:
        found = client.users.change(_id(client, name), **given)
    echo(f"user {found.name}: {found.role}, {found.state}")


@app.command(cls=PlainCommand)
def delete(name: NameArgument, server: ServerOption = "", ca_file: CaFileOption = "") -> None:
    """Delete a user with his tokens and grants. His jobs go on.

    minicluster users delete alice
    """
    with client_of(server, ca_file) as client:
        client.users.delete(_id(client, name))
    echo(f"user {name} is deleted")


def _id(client: Client, name: str) -> str:
    found = client.users.named(name)
    if found is None:
        raise typer.BadParameter(
            f"{client.server} has no user {name!r}; `minicluster users list` lists them", param_hint="USER"
        )
    return found.id


def _password(wanted: bool) -> str:
    if not wanted:
        return ""
    found = sys.stdin.readline().rstrip("\r\n")
    if not found:
        raise typer.BadParameter(
            "standard input is empty; it has the password", param_hint="--password-stdin"
        )
    return found


def _given(**values: str) -> dict[str, str]:
    return {name: text for name, text in values.items() if text}
