"""What a test of release 0.1.0 proved is proved by a test that is there now."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.devcluster import release_0_1_0

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
RENAMED = [line.split("\t") for line in (FOLDER / "renamed_tests.tsv").read_text().splitlines()]
"""Each test of the release whose name is gone, and its successor, or why it needs none."""
_TABLE = [
    line.split(" | ") for line in (FOLDER / "moved_tests.md").read_text().splitlines() if line[:1] == "|"
]
MOVED = {fact.removeprefix("| "): now for fact, _, now in _TABLE[2:]}
"""Each fact, and what proves it now."""
NAMED = re.compile(r"`((?:\w+/)*\w+(?:/\w+|\.py)|)(?:::)?(test_\w+|)(?:\[[^`]*\])?`")
"""A file or folder below tests/kubernetes, a test in it, or both."""
DEFINED = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)


def test_each_successor_is_there() -> None:
    successors = [now for _, now in RENAMED if "::" in now]
    missing = [
        each for each in successors if each.split("::")[1] not in names((ROOT / file(each)).read_text())
    ]
    assert missing == []
    assert len(successors) > 300


def test_each_name_that_is_gone_is_listed() -> None:
    """Of a name that several files had, as many are listed as there are fewer files with it: files move."""
    if not release_0_1_0.is_known():
        pytest.skip(f"revision {release_0_1_0.REVISION} is not in this checkout's history")
    listed = {former for former, _ in RENAMED}
    gone = released() - present()
    assert listed - gone == set()
    assert bare(released()) - bare(present()) == bare(listed)


@pytest.mark.parametrize("fact", MOVED)
def test_what_proves_a_fact_now_is_there(fact: str) -> None:
    """The last column names a file at least; a test that is named alone is of the file before it."""
    path = None
    for below, name in NAMED.findall(MOVED[fact]):
        path = ROOT / "tests" / "kubernetes" / below if below else path
        assert path is not None
        assert path.exists()
        assert not name or name in names(path.read_text())
    assert path is not None


def file(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def names(text: str) -> set[str]:
    """Return the names of the tests in a file's text."""
    return set(DEFINED.findall(text))


def bare(tests: set[str]) -> Counter[str]:
    """Count the files that have a test of each name."""
    return Counter(each.split("::")[1] for each in tests)


def present() -> set[str]:
    """Return the tests of this checkout, each as file::name."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {f"{path.relative_to(ROOT)}::{name}" for path in files for name in names(path.read_text())}


def released() -> set[str]:
    """Return the tests of the release, each as file::name."""
    pattern = r"^ *(async )?def test_"
    command = ("git", "grep", "-E", pattern, release_0_1_0.REVISION, "--", "tests/*test_*.py")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = set()
    for line in done.stdout.splitlines():
        _, path, definition = line.split(":", 2)
        found |= {f"{path}::{name}" for name in names(definition)}
    return found
