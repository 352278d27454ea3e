"""docs/flux-commands.md: what of Flux's command lines is in the embedded instance, and what is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minicluster.embedded import main
from minicluster.embedded.commands import job
from minicluster.instance.connection import real_flux
from minicluster.instance.errors import NoEngine
from tests.embedded import parsers

PAGE = (Path(__file__).parents[2] / "docs" / "flux-commands.md").read_text(encoding="utf-8")
HERE, ABSENT = PAGE.partition("## What is there")[2].split("## What is not there")


def rows(text: str) -> dict[str, set[str]]:
    """The quoted words of a table's second column, by each of the first."""
    pairs = (line.split(" | ", 1) for line in re.findall(r"^\| (`.*) \|$", text, re.MULTILINE))
    return {name: set(_quoted(second)) for first, second in pairs for name in _quoted(first)}


def _quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_every_command_is_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(rows(HERE)) == set(parsers.ours(monkeypatch))


def test_every_absent_command_is_in_the_other_table() -> None:
    names = {name for name in rows(ABSENT) if name.split()[0] not in ("queue", "resource")}
    assert names == {*main._ABSENT.split(), *(f"job {name}" for name in job._ABSENT.split())}


@pytest.mark.parametrize("name", rows(ABSENT))
def test_an_absent_command_ends_with_2(name: str) -> None:
    try:
        code = main.main(name.split())
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2


def test_what_is_listed_as_missing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    there = parsers.ours(monkeypatch)
    known = {name: {word for option in options for word in option} for name, options in there.items()}
    assert {
        name: missing & known[name] for name, missing in rows(HERE).items() if missing & known[name]
    } == {}


@pytest.mark.timeout(600)  # real Flux takes a second for the help of one command
def test_nothing_else_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        flux = real_flux()
    except NoEngine as reason:
        pytest.skip(str(reason))
    offered = {name: parsers.of_flux(flux, name) for name in rows(HERE)}
    missing = {}
    for name, options in parsers.ours(monkeypatch).items():
        known = {word for option in options for word in option}
        missing[name] = {option[-1] for option in offered[name] if not known & set(option)}
    assert missing == rows(HERE)
