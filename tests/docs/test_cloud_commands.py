"""Each `minicluster` command on the pages about bursts is one that there is, with its options.

Blocks that need an account are not typed by other tests, and tables of steps are not blocks.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from minicluster.cli.commands import app

ROOT = Path(__file__).parents[2]
PAGES = (
    *sorted((ROOT / "docs").glob("cloud-*.md")),
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("bursting-to-clouds", "burst-money", "burst-service", "bursting")
    ),
    *(ROOT / "docs" / f"{name}.md" for name in ("burst-on-kubernetes", "burst-rehearsal")),
)
LINE = re.compile(r"(?:^\$ |`|\* +)(minicluster (?:burst|submit|jobs|up|down)[^`\n|;]*)", re.MULTILINE)
REDIRECTED = re.compile(r" (2?>|&).*")
NO_CALL = {
    "minicluster burst",
    "minicluster jobs",
    "minicluster submit",
    "minicluster burst COMMAND --on service",
}
"""Names of commands in prose."""
SED = re.compile(r"sed '(s/REGION[^']*)'[^$]*?deploy/clouds/([\w-]+\.json)", re.DOTALL)


def written(page: Path) -> list[str]:
    """Return the commands of a page."""
    found = {REDIRECTED.sub("", each).strip() for each in LINE.findall(page.read_text())}
    return sorted(found - NO_CALL)


def test_commands_are_found() -> None:
    assert [len(written(page)) > 0 for page in PAGES] == [True] * len(PAGES)


def parsed(line: str) -> None:
    """Parse a command as it would be called; one without an argument or an option is a name alone.

    Raises UsageError.
    """
    _, *words = shlex.split(line)
    command: Any = typer.main.get_command(app)
    name, context = "minicluster", None
    while words:
        context = command.make_context(name, list(words), parent=context)
        if not hasattr(command, "resolve_command"):
            return
        name, command, words = command.resolve_command(context, words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_is_one_that_there_is(page: Path) -> None:
    wrong = []
    for line in written(page):
        try:
            parsed(line)
        except Exception as error:  # noqa: BLE001 - it is reported with the line
            if not str(error).startswith("Missing"):  # prose leaves out what it is not about
                wrong.append(f"{line}: {error}")
    assert wrong == []


@pytest.mark.parametrize(
    "line", ["minicluster burst cots", "minicluster burst cost --of me", "minicluster dance"]
)
def test_what_there_is_not_is_found(line: str) -> None:
    with pytest.raises(Exception, match="No such"):
        parsed(line)


def test_the_policies_are_whole_once_names_are_put_in() -> None:
    """As the pages have it; a user's own policies have 2,048 characters at most, without spaces."""
    edits = SED.findall((ROOT / "docs" / "cloud-eks.md").read_text())
    assert [name for _, name in edits] == ["eks-policy.json", "eks-clusters-policy.json"]
    for script, name in edits:
        lines = (ROOT / "deploy" / "clouds" / name).read_text().splitlines()
        for each in script.split("; "):
            _, old, new, _ = each.split("/")
            lines = [line.replace(old, new, 1) for line in lines]
        text = json.dumps(json.loads("\n".join(lines)), separators=(",", ":"))
        resources = re.findall(r'"(arn:[^"]*|\*)"', text)
        assert [each for each in resources if re.search("[A-Z]{4}", each)] == []
        assert len(text) < 2048
