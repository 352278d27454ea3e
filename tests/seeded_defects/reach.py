"""Which tests reach which lines, by coverage with a context a test, kept in a cache outside the tree.

What runs in other processes (brokers, supervisors, the operator, programs of tests) is not measured.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coverage import CoverageData

from tests.seeded_defects import reports
from tests.seeded_defects.errors import SeedError
from tests.seeded_defects.trees import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tests.seeded_defects.defects import Edition
    from tests.seeded_defects.trees import Tree

NO_SUITES = frozenset({"devcluster", "docs", "kubernetes", "project", "release_0_1_0", "seeded_defects"})
"""Folders of tests that need a cluster, or look at the sources themselves."""
UNKNOWN_SECONDS = 1.0
_SETTINGS = "[run]\nrelative_files = true\nsource =\n" + "".join(f"    {each}\n" for each in PACKAGES)


@dataclass(frozen=True, slots=True)
class Reach:
    """What was measured of a tree."""

    lines: CoverageData
    seconds: Mapping[str, float]

    def tests(self, edition: Edition, text: str) -> list[str]:
        """Return the tests that reach the lines of a defect, the cheapest first.

        Of a test with many parameters one comes first, and the others after one of each other test.
        """
        contexts = self.lines.contexts_by_lineno(edition.file)
        reached = {_nodeid(each) for line in edition.lines(text) for each in contexts.get(line, ()) if each}
        return in_turn(reached, self.seconds)


def suites(tree: Tree) -> list[str]:
    """Return the folders of tests that need no cluster."""
    folders = (each for each in (tree.path / "tests").iterdir() if any(each.glob("**/test_*.py")))
    return sorted(f"tests/{each.name}" for each in folders if each.name not in NO_SUITES)


def measure(tree: Tree, wanted: Sequence[str], workers: str) -> int:
    """Run suites with coverage, and add what they reach to the cache; all anew where none is named.

    Return pytest's exit code.
    """
    tree.cache.mkdir(parents=True, exist_ok=True)
    settings, junit = tree.cache / "coveragerc", tree.cache / "junit.xml"
    settings.write_text(_SETTINGS, encoding="utf-8")
    if not wanted:
        _data_file(tree).unlink(missing_ok=True)
    junit.unlink(missing_ok=True)
    coverage = ("--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-append", "--cov-report=")
    # With --dist pytest-cov expects workers, and would keep no contexts where there are none.
    parallel = () if workers == "0" else ("-n", workers, "--dist", "loadfile")
    code, output = tree.pytest(
        (*coverage, *parallel, *reports.arguments(junit), *(wanted or suites(tree))),
        env={"COVERAGE_FILE": str(_data_file(tree))},
    )
    _keep_seconds(tree, reports.read(junit))
    print(output)
    return code


def load(tree: Tree) -> Reach:
    """Return what was measured of a tree. Raises SeedError where nothing was."""
    if not _data_file(tree).exists():
        command = f"python -m tests.seeded_defects reach {tree.path}"
        raise SeedError(f"it was not measured yet what tests reach of this code: {command}")
    lines = CoverageData(str(_data_file(tree)))
    lines.read()
    return Reach(lines, _read_seconds(tree))


def in_turn(tests: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """Return tests, the cheapest first, in rounds that have each test function once."""
    rounds: defaultdict[str, int] = defaultdict(int)
    placed: list[tuple[int, float, str]] = []
    for cost, test in sorted((seconds.get(each, UNKNOWN_SECONDS), each) for each in tests):
        function = test.partition("[")[0]
        placed.append((rounds[function], cost, test))
        rounds[function] += 1
    return [test for _, _, test in sorted(placed)]


def _nodeid(context: str) -> str:
    """Return the test of a context such as `tests/x.py::test_y|run`."""
    return re.sub(r"\|(setup|run|teardown)$", "", context)


def _data_file(tree: Tree) -> Path:
    return tree.cache / "coverage"


def _read_seconds(tree: Tree) -> dict[str, float]:
    file = tree.cache / "seconds.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def _keep_seconds(tree: Tree, found: Iterable[reports.TestReport]) -> None:
    kept = _read_seconds(tree) | {each.nodeid: each.seconds for each in found}
    (tree.cache / "seconds.json").write_text(json.dumps(kept, indent=0, sort_keys=True), encoding="utf-8")
