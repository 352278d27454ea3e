"""Tables: readable on a narrow terminal, and never cut."""

from __future__ import annotations

import os
import sys

import pytest

from minicluster.cli import tables

NAME = "a-name-of-nearly-sixty-characters-which-is-long-but-allowed"
ROWS = [
    {"name": NAME, "max_size": 4, "drained": True, "document": "x" * 90},
    {**dict.fromkeys(("name", "max_size", "drained", "document")), "name": "mc"},
]
COLUMNS = ("name", "max_size", "drained", "document")


def _shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int) -> str:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: bool(width), raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback=(0, 0): os.terminal_size((width, 24)))
    tables.show(ROWS, COLUMNS, "table")
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [0, 20, 40, 80, 200], ids=["piped", "20", "40", "80", "200"])
def test_nothing_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    shown = _shown(monkeypatch, capsys, width)
    assert NAME in shown
    assert "x" * 90 in shown


def test_a_table_that_fits_is_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the last column may run over the edge."""
    lines = _shown(monkeypatch, capsys, 100).splitlines()
    assert lines == [
        f"{'NAME':<59}  MAX SIZE  DRAINED  DOCUMENT",
        f"{NAME}  4         yes      {'x' * 90}",
        "mc",
    ]


def test_one_that_does_not_fit_is_shown_in_blocks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = _shown(monkeypatch, capsys, 70).splitlines()
    assert lines[:2] == [f"name:     {NAME}", "max size: 4"]
    assert lines[4:6] == ["", "name:     mc"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (False, "no"), ("\x1b[2J", "\\x1b[2J"), ("a\nb", "a\\nb"), ("ünï", "ünï")],
    ids=["nothing", "yes", "no", "escape", "newline", "letters"],
)
def test_a_cell_reports_what_is_there_and_moves_no_cursor(value: object, text: str) -> None:
    assert tables.cell(value) == text
