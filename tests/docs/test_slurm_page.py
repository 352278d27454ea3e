"""docs/slurm.md: what stands beside Slurm's commands is really there, in both engines unless it is marked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pytest
import typer

from broker_config.formats.job_states import JobResult, JobState
from minicluster.cli import commands, job_requests
from minicluster.embedded.commands import job_record
from minicluster.embedded.jobs import dependencies
from minicluster.instance.connection import real_flux
from minicluster.instance.errors import NoEngine
from tests.docs import pages
from tests.embedded import parsers

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

TEXT = (pages.ROOT / "docs" / "slurm.md").read_text(encoding="utf-8")
PROSE = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
MARK = "real Flux: "
"""Behind it in a cell of a table is what the embedded instance lacks."""
SLURMS = ["--account", "--mem", "--reservation", "--licenses", "--mail-type"]
"""What has no counterpart."""


class Quoted(NamedTuple):
    """A command line of the page, or of a table's column that is about one command."""

    words: str
    real_only: bool = False

    @property
    def program(self) -> str:
        return self.words.partition(" ")[0]

    @property
    def options(self) -> set[str]:
        """The names of its options: --cc of --cc=0-9, -N of -N2."""
        given = [word for word in self.words.split() if re.match(r"--?\w", word)]
        return {re.match(r"--[\w-]+|-\w", word)[0] for word in given}  # type: ignore[index]

    @property
    def schemes(self) -> set[str]:
        """What its dependencies begin with: afterok of --dependency=afterok:JOB."""
        return set(re.findall(r"--dependency[= ](\w+)", self.words))

    def command(self, known: Container[str]) -> str:
        """The longest of these commands with which it begins, such as `job urgency`; else an empty text."""
        words = self.words.split()[1:3]
        return next((name for name in (" ".join(words), words[0]) if name in known), "")


def tables(section: str) -> list[list[str]]:
    """The rows of a section's tables, each a list of cells, without the heads."""
    text = PROSE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (`.*) \|$(?!\n\|---)", text, re.MULTILINE)
    return [line.split(" | ") for line in lines]


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def quoted() -> Iterator[Quoted]:
    """Every command line of the page outside of its blocks."""
    columns: list[str] = []
    for line, below in zip(PROSE.splitlines(), [*PROSE.splitlines()[1:], ""], strict=True):
        cells = line.strip("|").split(" | ")
        if below.startswith("|---"):
            columns = [next(iter(spans(cell)), "") for cell in cells]
        elif line.startswith("| "):
            yield from _in_cells(cells[1:], columns[1:])
        elif not line.startswith("|"):
            yield from (Quoted(each) for each in spans(line))


def _in_cells(cells: list[str], columns: list[str]) -> Iterator[Quoted]:
    for cell, column in zip(cells, columns, strict=True):
        both, mark, real = cell.partition(MARK)
        for part, real_only in ((both, False), (real if mark else "", True)):
            for each in spans(part):
                yield Quoted(f"{column} {each}" if each.startswith("-") else each, real_only)


ALL = list(dict.fromkeys(quoted()))
OUTSIDE = [each for each in ALL if each.program == "minicluster" and " " in each.words]
INSIDE = [each for each in ALL if each.program == "flux" and " " in each.words]


def test_the_page_is_read() -> None:
    assert Quoted("minicluster submit -N 2 -x") in OUTSIDE
    assert Quoted("flux submit -N2 --tasks-per-node=4") in INSIDE
    assert Quoted("flux cancel --states=pending", real_only=True) in INSIDE
    assert (len(OUTSIDE), len(INSIDE)) > (50, 70)


def test_no_option_stands_without_its_command() -> None:
    assert [each.words for each in ALL if each.words.startswith("-")] == SLURMS


@pytest.mark.parametrize("line", OUTSIDE, ids=lambda line: line.words)
def test_what_is_typed_outside_is_there(line: Quoted) -> None:
    group = typer.main.get_command(commands.app)
    name = line.words.split()[1]
    command = group.get_command(None, name)  # type: ignore[attr-defined]
    assert command is not None, name
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    assert line.options - known == set()
    assert line.real_only is not (line.schemes <= set(dependencies._KINDS))


def test_what_is_typed_inside_is_in_the_embedded_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    there = parsers.ours(monkeypatch)
    assert [each.words for each in INSIDE if not each.real_only and _lacks(each, there)] == []


def test_what_is_marked_is_not_in_the_embedded_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    there = parsers.ours(monkeypatch)
    marked = [each for each in INSIDE if each.real_only]
    assert len(marked) > 5
    assert [each.words for each in marked if not _lacks(each, there)] == []


def _lacks(line: Quoted, there: dict[str, list[tuple[str, ...]]]) -> bool:
    command = line.command(there)
    known = {word for option in there.get(command, ()) for word in option}
    return not command or bool(line.options - known) or not line.schemes <= set(dependencies._KINDS)


@pytest.mark.timeout(600)  # real Flux takes a second for the help of one command
def test_what_is_typed_inside_is_in_real_flux(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        flux = real_flux()
    except NoEngine as reason:
        pytest.skip(str(reason))
    commands_here = {*parsers.ours(monkeypatch), "update"}
    wanted: dict[str, set[str]] = {}
    for each in INSIDE:
        wanted.setdefault(each.command(commands_here), set()).update(each.options)
    missing = {}
    for command, options in wanted.items():
        known = {word for option in parsers.of_flux(flux, command) for word in option}
        missing[command] = options - known
    assert {command: options for command, options in missing.items() if options} == {}


@pytest.mark.parametrize("row", tables("Times"), ids=lambda row: row[0])
def test_times_are_as_long(row: list[str]) -> None:
    (slurm,), (flux,) = spans(row[0]), spans(row[1])
    wanted = 0.0 if slurm == "UNLIMITED" else _slurm_seconds(slurm)
    assert job_requests.time_limit("", flux.removeprefix("-t ")) == wanted


def _slurm_seconds(text: str) -> float:
    """The forms of sbatch(1): M, M:S, H:M:S, D-H, D-H:M, D-H:M:S."""
    days, dash, rest = text.rpartition("-")
    numbers = [int(each) for each in rest.split(":")]
    units = (3600, 60, 1) if dash or len(numbers) == 3 else (60, 1)
    return int(days or 0) * 86400 + sum(a * b for a, b in zip(numbers, units, strict=False))


@pytest.mark.parametrize("row", tables("States"), ids=lambda row: row[1])
def test_states_are_named_and_abbreviated_as_in_listings(row: list[str]) -> None:
    (name,), (short,) = spans(row[1]), spans(row[2])
    ended = name in JobResult.__members__
    job = {"state": int(JobState.INACTIVE if ended else JobState[name])}
    job |= {"result": int(JobResult[name])} if ended else {}
    assert job_record.value(job, "status_abbrev") == short


def test_variables_are_those_that_a_task_has() -> None:
    """The last line but two of the block prints them."""
    (shown,) = re.findall(r"^(FLUX_.*)$", TEXT, re.MULTILINE)
    named = {name for row in tables("Files and variables") for name in re.findall(r"`(FLUX_\w+)`", row[1])}
    assert len(named) > 5
    assert named - {*shown.split(), "FLUX_JOB_CC"} == set()
