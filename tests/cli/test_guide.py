"""The commands shown in docs/kubernetes.md exist, with these options."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from minicluster.cli.commands import app

GUIDE = (Path(__file__).parents[2] / "docs" / "kubernetes.md").read_text()
SHOWN = re.findall(r"^\$ minicluster (.+)$", GUIDE, re.MULTILINE)
ON_KUBERNETES = (
    "up",
    "list",
    "status",
    "top",
    "scale",
    "suspend",
    "resume",
    "logs",
    "down",
    "validate",
    "render",
)
ON_KUBERNETES += ("submit", "jobs", "attach", "wait", "urgency", "cancel", "shell")


def options(command: str) -> set[str]:
    """Return the options of a command."""
    group = typer.main.get_command(app)
    found = group.get_command(None, command)  # type: ignore[attr-defined]
    return {word for each in found.params for word in (*each.opts, *each.secondary_opts)}


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_that_is_shown_exists(line: str) -> None:
    command, *words = shlex.split(line.partition(" -- ")[0])
    assert {word for word in words if word.startswith("-")} <= options(command)


@pytest.mark.parametrize("command", ON_KUBERNETES)
def test_what_works_on_kubernetes_is_in_the_guide(command: str) -> None:
    assert "--on" in options(command)
    assert f"minicluster {command}" in GUIDE


def test_a_run_in_the_foreground_is_not_offered_there() -> None:
    assert "--on" not in options("run")
