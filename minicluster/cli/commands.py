"""The commands of all packages behind one name, each loaded only when it is used."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from minicluster.cli.help_text import HelpLayout
from minicluster.cli.reporting import print_warning

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
PANELS = {
    "Clusters": (
        *("run", "up", "list", "status", "top", "scale"),
        *("suspend", "resume", "shell", "logs", "down"),
    ),
    "Jobs": ("submit", "jobs", "attach", "wait", "urgency", "update", "resize", "cancel"),
    "Servers": ("serve", "burst", "login", "logout", "tokens", "users", "quotas"),
    "Documents": ("init", "validate", "explain", "render"),
    "Simulation": ("policies", "placements", "simulate"),
    "Administration": ("crd", "operator", "metrics-adapter", "rest-api", "burst-service"),
    "This program": ("version", "completion", "help"),
}
"""Our commands as --help groups and lists them: in the order in which one needs them."""
ORDER = tuple(name for names in PANELS.values() for name in names)
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
ELSEWHERE = {
    "ps": "`jobs` lists jobs, `list` clusters",
    "exec": "`shell NAME -- COMMAND` runs a command in a cluster",
    "delete": "`down` ends a cluster, `cancel` a job",
    "stop": "`down` ends a cluster, `cancel` a job",
    "kill": "`cancel` ends a job",
    "apply": "`up FILE` brings a document's cluster up",
    "create": "`up FILE` brings a document's cluster up, `init` writes a document",
    "get": "`list` lists clusters, `status NAME` shows one",
    "describe": "`status NAME` shows a cluster, `jobs NAME JOB` a job",
    "watch": "`attach NAME JOB` shows a job's output, `status --watch` a cluster, `top` its queue",
    "sinfo": "`status NAME` shows a cluster's nodes (docs/slurm.md)",
    "squeue": "`jobs` lists jobs (docs/slurm.md)",
    "sacct": "`jobs --all` lists jobs that have ended as well (docs/slurm.md)",
    "sbatch": "`submit NAME --batch SCRIPT` submits a script (docs/slurm.md)",
    "srun": "`submit NAME --watch -- COMMAND` runs a command as a job (docs/slurm.md)",
    "salloc": "`shell NAME` opens a shell in a cluster (docs/slurm.md)",
    "scancel": "`cancel` cancels jobs (docs/slurm.md)",
    "scontrol": "`urgency` and `update` change jobs, `scale` a cluster (docs/slurm.md)",
}
"""What commands of other tools are called here."""
PLUGINS = "Plug-ins"
"""The panel of plug-ins' commands, the last one."""


class CommandGroup(HelpLayout, TyperGroup):
    """Commands found by entry point; a module is imported when its command is called, or for --help."""

    @cached_property
    def _offered(self) -> dict[str, list[EntryPoint]]:
        """Every command that there is by its name, ours before those of plug-ins."""
        offered: dict[str, list[EntryPoint]] = {}
        for each in sorted(entry_points(group=GROUP), key=lambda each: (not _is_ours(each), each.value)):
            offered.setdefault(each.name, []).append(each)
        return offered

    @cached_property
    def _found(self) -> dict[str, EntryPoint]:
        return {name: entries[0] for name, entries in self._offered.items()}

    def list_commands(self, _ctx: Any) -> list[str]:
        """Return every command's name, in the order of ORDER; those of plug-ins come last, by name."""
        return sorted(
            self._found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)
        )

    def get_command(self, _ctx: Any, cmd_name: str) -> Any:
        """Return a command, importing its group."""
        if cmd_name not in self._found:
            return None
        loaded = self._found[cmd_name].load()
        vars(loaded).update(_add_completion=False)  # typer's own works for one command only
        group: Any = typer.main.get_command(loaded)
        members: dict[str, TyperCommand] = getattr(group, "commands", {})
        found: Any = members.get(cmd_name, group)
        found.rich_help_panel = _PANEL_OF.get(cmd_name, found.rich_help_panel or PLUGINS)
        return found

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return a command and its arguments. Raises UsageError with the nearest name."""
        name = args[0]
        if not (ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name)):
            ctx.fail(f"No such command {name!r}; {self._hint(name)}")
        for passed_over in self._offered.get(name, ())[1:]:
            print_warning(f"command {name} of plug-in {passed_over.value} is passed over: that name is taken")
        return super().resolve_command(ctx, args)

    def _hint(self, name: str) -> str:
        import difflib

        if name in ELSEWHERE:
            return f"{ELSEWHERE[name]}."
        near = difflib.get_close_matches(name, self._found, 1)
        return f"did you mean {near[0]!r}?" if near else "`minicluster help` lists them."


def _is_ours(entry: EntryPoint) -> bool:
    return entry.module.startswith("minicluster.")  # not by its package's name: that parses its METADATA


def _version(wanted: bool) -> None:
    if wanted:
        from minicluster import __version__

        typer.echo(f"minicluster {__version__}")
        raise typer.Exit


SETTINGS = {"help_option_names": ["-h", "--help"]}
"""Of the group, and by it of each command."""
app = typer.Typer(
    cls=CommandGroup,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


@app.callback()
def version_option(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """The options before a command (typer wants a function to hang them on)."""
