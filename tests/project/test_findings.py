"""The table of what attacks and new users found: its numbers have no gap, and its tests are there."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.dealing import Cluster, cluster_of

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
CLUSTER_TESTS = TESTS / "kubernetes" / "conftest.py"
LAST = {"S": 10, "B": 7, "A": 21, "P": 14, "R": 4, "C": 5}
"""The last number of each part of the table."""
NAMED = re.compile(r"`([\w/]+\.py)?::(test_\w+)(?:\[([^`]*)\])?`")
"""A test of a file below tests/, or of the file before it, perhaps with a part of the id of a case."""
EXCUSES = ("**Open:**", "**Stays:**")
ONE_PLANE, ALL = "`make test`", "`make test-all`"
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, by its columns."""

    number: str
    before: str
    now: str
    tests: str
    figures: str
    runs: str

    def named(self) -> list[tuple[str, str, str]]:
        """Return file, name and id of each test."""
        found, file = [], ""
        for path, name, case in NAMED.findall(self.tests):
            file = path or file
            found.append((file, name, case))
        return found


ROWS = [
    Row(*(cell.strip() for cell in line.strip("|").split(" | ")))
    for line in (Path(__file__).parent / "findings.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [A-Z]\d", line)
]
NUMBERED = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)


@cache
def definitions(path: Path) -> dict[str, set[str]]:
    """Return the names of a file's functions, methods too, each with its parameters."""
    if not path.exists():
        return {}
    return {
        node.name: {each.arg for each in node.args.args}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, DEFINITIONS)
    }


def fixtures(file: Path, test: str) -> set[str]:
    """Return the names that a test needs, and what they need, of its file and of the conftests above it."""
    known: dict[str, set[str]] = {}
    for folder in [each for each in file.parents if TESTS in (each, *each.parents)][::-1]:
        known |= definitions(folder / "conftest.py")
    known |= definitions(file)
    found, waiting = set(), set(known[test])
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= known.get(name, set()) - found
    return found


@cache
def constant(name: str) -> set[str]:
    """Return a set of names in the conftest that decides what `make test` leaves out."""
    tree = ast.parse(CLUSTER_TESTS.read_text(encoding="utf-8"))
    [value] = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    found: set[str] = ast.literal_eval(value)
    return found


def run_of(path: str, test: str) -> str:
    """Return the least run that has a test."""
    file = TESTS / path
    needs = fixtures(file, test)
    more = bool(needs & constant("FURTHER"))
    nodes = "nodes" in needs or cluster_of(f"tests/{path}") is Cluster.NODES
    return ALL if more or (nodes and file.name not in constant("FIRST_ON_NODES")) else ONE_PLANE


def order(row: Row) -> tuple[int, int, int]:
    """Return where a row stands: its part, and its numbers."""
    letter, first, second = re.fullmatch(r"([A-Z])(\d+)(?:\.(\d+))?", row.number).groups()  # type: ignore[union-attr]
    return [*LAST].index(letter), int(first), int(second or 0)


def test_the_numbers_have_no_gap() -> None:
    """A number has no parts, or its parts are numbered from 1 on."""
    expected = []
    for part, last in enumerate(LAST.values()):
        for number in range(1, last + 1):
            count = sum(order(row)[:2] == (part, number) for row in ROWS)
            whole = [(part, number, 0)]
            expected += whole if count < 2 else [(part, number, each) for each in range(1, count + 1)]
    assert [order(row) for row in ROWS] == expected


@NUMBERED
def test_each_named_test_is_there(row: Row) -> None:
    """What is quoted of an id is written in the test's file, or is the name of a page or a transcript."""
    for file, name, case in row.named():
        path = TESTS / file
        assert name in definitions(path), f"{file}::{name}"
        recorded = any(path.parent.glob(f"golden/*/{case}.txt"))
        assert case in path.read_text(encoding="utf-8") or recorded or (ROOT / case).exists(), case
    assert len(row.named()) == row.tests.count("::"), "a test that is written otherwise"


@NUMBERED
def test_where_nothing_proves_it_the_reason_is_there(row: Row) -> None:
    assert row.named() or any(each in row.now for each in EXCUSES)
    assert all([row.before, row.now, row.figures])


@NUMBERED
def test_the_runs_are_those_that_have_the_tests(row: Row) -> None:
    """Something by hand may stand behind them."""
    runs = sorted({run_of(file, name) for file, name, _ in row.named()}, key=len)
    assert re.fullmatch(re.escape(", ".join(runs) or "none") + r"(; .+)?", row.runs)
