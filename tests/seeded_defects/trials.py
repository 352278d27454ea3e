"""Seed a defect into a tree, run the tests that ought to notice it, and say whether one did."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.seeded_defects import reports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.seeded_defects.defects import Edition
    from tests.seeded_defects.reach import Reach
    from tests.seeded_defects.trees import Tree

Verdict = Literal["caught", "missed", "not run"]
MAX_TESTS = 400
SECONDS = 300.0
"""What the tests of a defect may take that need no cluster."""
MAX_FALSE_ALARMS = 3
FAILED = 1
"""pytest's exit code where tests have failed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for the tests of a defect: those without, and those on a cluster (None: these are left out)."""

    local: float = SECONDS
    cluster: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a defect: `by` is the test that caught it, `why` what is to be known where none did."""

    verdict: Verdict
    by: str = ""
    tests: int = 0
    seconds: float = 0.0
    why: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Trial:
    """Some tests against one defect in a tree."""

    tree: Tree
    edition: Edition
    tests: Sequence[str]
    limit: float

    def run(self) -> Outcome:
        """Run the tests until one fails that passes without the defect."""
        begin = time.monotonic()
        false_alarms: list[str] = []
        while len(false_alarms) <= MAX_FALSE_ALARMS:
            try:
                outcome = self._attempt(false_alarms)
                confirmed = outcome.verdict != "caught" or self._passes_without(outcome.by)
            except TimeoutError as error:
                outcome, confirmed = Outcome("not run", why=str(error)), True
            seconds = round(time.monotonic() - begin, 1)
            if confirmed:
                return Outcome(outcome.verdict, outcome.by, outcome.tests, seconds, outcome.why)
            false_alarms.append(outcome.by)
        return Outcome("not run", seconds=seconds, why=f"fail without it as well: {', '.join(false_alarms)}")

    def _attempt(self, passed_over: Sequence[str]) -> Outcome:
        with self.tree.seeded(self.edition):
            deselected = [f"--deselect={each}" for each in passed_over]
            code, output, found = self._pytest([*deselected, *self.tests])
        failed = next((each.nodeid for each in found if each.outcome == "failed"), "")
        count = sum(each.outcome != "skipped" for each in found)
        if code == FAILED and failed:
            return Outcome("caught", failed, count)
        if code == 0 and count:
            return Outcome("missed", tests=count)
        last = output.strip().splitlines()[-1:] or ["no output"]
        return Outcome("not run", tests=count, why=f"pytest ended with {code}: {last[0]}")

    def _passes_without(self, test: str) -> bool:
        code, _, _ = self._pytest([test])
        return code == 0

    def _pytest(self, arguments: Sequence[str]) -> tuple[int, str, tuple[reports.TestReport, ...]]:
        with tempfile.TemporaryDirectory(prefix="seeded-defects-") as directory:
            junit = Path(directory, "junit.xml")
            options = ("-x", "-n", "0", *reports.arguments(junit))
            code, output = self.tree.pytest((*options, *arguments), seconds=self.limit)
            return code, output, reports.read(junit)


def judge(tree: Tree, edition: Edition, reach: Reach, limits: Limits) -> Outcome:
    """Try a defect: first without a cluster, then on one where that is wanted and it was not caught."""
    text = (tree.path / edition.file).read_text(encoding="utf-8")
    reached = reach.tests(edition, text)
    tests, left_out = affordable(reached, reach.seconds, limits.local)
    outcome = Outcome("not run", why="no test that needs no cluster reaches it in this process")
    if tests or edition.tests:
        outcome = Trial(tree, edition, [*tests, *_others(edition.tests, tests)], limits.local).run()
    if left_out and outcome.verdict == "missed":
        outcome = Outcome("missed", "", outcome.tests, outcome.seconds, f"{left_out} more tests reach it")
    if outcome.verdict == "caught" or limits.cluster is None or not edition.cluster_tests:
        return outcome
    again = Trial(tree, edition, edition.cluster_tests, limits.cluster).run()
    # Where these cannot be run, what the others said stands.
    return again if again.verdict != "not run" or outcome.verdict == "not run" else outcome


def affordable(tests: Sequence[str], seconds: Mapping[str, float], limit: float) -> tuple[list[str], int]:
    """Return the first tests that take half of the limit together, and how many are left out."""
    chosen: list[str] = []
    left = limit / 2
    for test in tests[:MAX_TESTS]:
        left -= seconds.get(test, 1.0)
        if left < 0:
            break
        chosen.append(test)
    return chosen, len(tests) - len(chosen)


def _others(named: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """Return the named tests that are not chosen already."""
    return [each for each in named if each not in chosen]
