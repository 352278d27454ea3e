"""What a trial makes of what pytest says, with and without the defect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.seeded_defects.defects import Edition
from tests.seeded_defects.trees import Tree
from tests.seeded_defects.trials import Trial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GUARD, BROKEN, OTHER = "tests/x.py::test_guard", "tests/x.py::test_broken", "tests/x.py::test_other"
RIGHT, WRONG = "a = 1\n", "a = 2\n"


@dataclass(frozen=True, slots=True)
class PlayedTree(Tree):
    """A tree whose `test_guard` notices the defect, and whose `test_broken` always fails."""

    def pytest(
        self,
        arguments: Sequence[str],
        *,
        seconds: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Play a run of pytest that ends with the first test that fails."""
        is_seeded = (self.path / "x.py").read_text() == WRONG
        cases: list[str] = []
        failed = False
        for test in (each for each in arguments if each.startswith("tests/")):
            if f"--deselect={test}" in arguments or failed:
                continue
            failed = test == BROKEN or (test == GUARD and is_seeded)
            cases.append(_case(test, "<failure/>" if failed else ""))
        junit = next(each.partition("=")[2] for each in arguments if each.startswith("--junitxml="))
        Path(junit).write_text(f"<testsuites>{''.join(cases)}</testsuites>")
        return (1 if failed else 0 if cases else 5), "the end"


def _case(test: str, inner: str) -> str:
    file, _, name = test.partition("::")
    return f'<testcase classname="tests.x" name="{name}" file="{file}" time="0">{inner}</testcase>'


@pytest.mark.parametrize(
    ("tests", "verdict", "by"),
    [
        pytest.param([OTHER, GUARD], "caught", GUARD, id="a test fails with the defect alone"),
        pytest.param([BROKEN, GUARD], "caught", GUARD, id="one that always fails is passed over"),
        pytest.param([OTHER], "missed", "", id="all pass"),
        pytest.param([BROKEN], "not run", "", id="nothing is left to run"),
    ],
)
def test_verdicts(tmp_path: Path, tests: list[str], verdict: str, by: str) -> None:
    (tmp_path / "x.py").write_text(RIGHT)
    outcome = Trial(PlayedTree(tmp_path), Edition("x.py", "1", "2"), tests, 1.0).run()
    assert (outcome.verdict, outcome.by) == (verdict, by)
    assert (tmp_path / "x.py").read_text() == RIGHT
