"""`kubectl minicluster`: the commands that have a meaning on Kubernetes, with that as their default."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from minicluster.cli.commands import SETTINGS, CommandGroup, version_option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.metadata import EntryPoint

PROGRAM = "kubectl minicluster"
HELP = """Run Flux MiniClusters in a Kubernetes cluster.

  kubectl minicluster up cluster.yaml

  kubectl minicluster list --all-namespaces; kubectl minicluster status NAME

--context, --namespace and --kubeconfig are as kubectl's, before or after the command.
"""
LOCAL = frozenset({"run"})
"""Commands for clusters of this machine only."""
NOWHERE = frozenset({"crd", "policies", "init", "explain", "completion", "help"})
"""Commands that use no cluster: kubectl's options before them are dropped."""
_SHARED = ("--context", "--namespace", "--kubeconfig", "-n")


class PluginCommands(CommandGroup):
    """The commands of `minicluster` without those for clusters of this machine."""

    @cached_property
    def _found(self) -> dict[str, EntryPoint]:
        return {name: each for name, each in super()._found.items() if name not in LOCAL}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command. Raises BadParameter for one that is left out, with where it is."""
        if cmd_name in LOCAL:
            raise typer.BadParameter(
                f"is for clusters of this machine: minicluster {cmd_name}", ctx, None, cmd_name
            )
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=PluginCommands,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)
app.callback()(version_option)


def call() -> None:
    """Run the command line that kubectl passed on."""
    os.environ["MINICLUSTER_ON"] = "kubernetes"
    app(args=ordered(sys.argv[1:]), prog_name=PROGRAM)


def complete() -> None:
    """Print what may stand next on the command line that kubectl passed on."""
    from minicluster.cli.completion.answers import answer_kubectl

    os.environ["MINICLUSTER_ON"] = "kubernetes"
    *words, incomplete = sys.argv[1:] or [""]
    answer_kubectl(app, PROGRAM, [*ordered(words), incomplete])


def ordered(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with kubectl's own options behind the command, where they are understood."""
    rest = list(arguments)
    shared: list[str] = []
    while rest and rest[0].startswith(_SHARED):
        separate = rest[0] in _SHARED
        shared += [_long(rest[0]), *rest[1 : 1 + separate]]
        rest = rest[1 + separate :]
    if not rest or rest[0].startswith("-"):
        return rest
    return [rest[0], *(() if rest[0] in NOWHERE else shared), *rest[1:]]


def _long(word: str) -> str:
    """Return kubectl's -n, -nNAME or -n=NAME by its whole name: to `submit` -n is the number of tasks."""
    if not word.startswith("-n"):
        return word
    value = word[2:].removeprefix("=")
    return f"--namespace={value}" if value else "--namespace"
