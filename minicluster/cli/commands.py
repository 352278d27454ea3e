"""The commands of all packages behind one name, each loaded only when it is used."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer.core import TyperCommand

GROUP = "minicluster.commands"
HELP = """Run Flux MiniClusters, on this machine or on Kubernetes, from the same documents.

  minicluster run examples/hello-world/minicluster.yaml

  minicluster up cluster.yaml; minicluster submit NAME -- ./a.out; minicluster down NAME

  minicluster up cluster.yaml --on kubernetes

MINICLUSTER_ON=kubernetes makes that the default of every command that has --on.
Exit codes: that of the main command; 1 an invalid document, 2 a wrong call,
124 time over, 125 the cluster failed, 129 hang-up, 130 Ctrl-C, 143 SIGTERM.
"""
ORDER = (
    "run",
    "up",
    "list",
    "status",
    "top",
    "submit",
    "jobs",
    "attach",
    "cancel",
    "scale",
    "suspend",
    "resume",
    "shell",
    "logs",
    "down",
    "validate",
    "render",
    "crd",
    "operator",
    "metrics-adapter",
    "policies",
    "simulate",
)
"""Our commands as --help lists them: in the order in which one needs them, then what few ever call."""


class CommandGroup(TyperGroup):
    """Commands found by entry point; a module is imported when its command is called, or for --help."""

    @cached_property
    def _found(self) -> dict[str, EntryPoint]:
        return {each.name: each for each in entry_points(group=GROUP)}

    def list_commands(self, _ctx: Any) -> list[str]:
        """Return every command's name, in the order of ORDER; those of plug-ins come last, by name."""
        return sorted(
            self._found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)
        )

    def get_command(self, _ctx: Any, cmd_name: str) -> Any:
        """Return a command, importing its group."""
        if cmd_name not in self._found:
            return None
        group: Any = typer.main.get_command(self._found[cmd_name].load())
        members: dict[str, TyperCommand] = getattr(group, "commands", {})
        return members.get(cmd_name, group)


def _version(wanted: bool) -> None:
    if wanted:
        from minicluster import __version__

        typer.echo(f"minicluster {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=CommandGroup, help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


@app.callback()
def version_option(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """The options before a command (typer wants a function to hang them on)."""
