"""The list of checks is whole, and some of them are tried: `python -m tests.restful.proofs.owner_checks`."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.restful.proofs.owner_check_calls import CHECKS, ELSEWHERE, UNTRIED
from tests.restful.proofs.owner_check_list import MUTANTS
from tests.restful.proofs.owner_checks import ROOT, mutated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOM = ROOT / "restful"


def calls(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the checks that a module calls, and their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name):
            owner, name = "", function.id
        elif isinstance(function, ast.Attribute):
            base = function.value
            owner = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            name = function.attr
        else:
            continue
        if name in CHECKS[""] or name in CHECKS.get(owner.lstrip("_"), ()):
            yield name, node.lineno


def test_every_check_is_in_the_list() -> None:
    listed: dict[str, set[int]] = {}
    for mutant in MUTANTS:
        text = (ROOM / mutant.file).read_text()
        first = text[: text.index(mutant.text)].count("\n") + 1
        listed.setdefault(mutant.file, set()).update(range(first, first + mutant.text.count("\n") + 1))
    missing = {
        (file, name, line)
        for path in sorted(ROOM.rglob("*.py"))
        for file in (str(path.relative_to(ROOM)),)
        for name, line in calls(path)
        if line not in listed.get(file, ()) and (file, name) not in {*ELSEWHERE, *UNTRIED}
    }
    assert missing == set()


def test_every_exception_is_a_call() -> None:
    """What is not called any more is not excepted, lest it excuses a call of the same name later."""
    called = {(str(path.relative_to(ROOM)), name) for path in ROOM.rglob("*.py") for name, _ in calls(path)}
    assert {*ELSEWHERE, *UNTRIED} - called == set()
    assert set(ELSEWHERE) & UNTRIED == set()


def test_every_check_of_the_list_is_there() -> None:
    for mutant in MUTANTS:
        compile(mutated(mutant), mutant.file, "exec")


def test_the_matrix_notices_checks_that_are_missing() -> None:
    words = [sys.executable, "-m", "tests.restful.proofs.owner_checks", "--sample"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert "3 of 3 checks are missed where they are taken out" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
