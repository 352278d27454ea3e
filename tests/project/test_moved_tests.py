"""What a test of release 0.1.0 proved is proved by a test that is there now."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.devcluster import release_0_1_0

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
RENAMED = [line.split("\t") for line in (FOLDER / "renamed_tests.tsv").read_text().splitlines()]
"""Each test of the release whose name is gone, and its successor, or why it needs none."""
DEFINED = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)


def test_each_successor_is_there() -> None:
    successors = [now for _, now in RENAMED if "::" in now]
    missing = [
        each for each in successors if each.split("::")[1] not in names((ROOT / file(each)).read_text())
    ]
    assert missing == []
    assert len(successors) > 300


def test_each_name_that_is_gone_is_listed() -> None:
    if not release_0_1_0.is_known():
        pytest.skip(f"revision {release_0_1_0.REVISION} is not in this checkout's history")
    there = {name for path in (ROOT / "tests").rglob("test_*.py") for name in names(path.read_text())}
    listed = {former for former, _ in RENAMED}
    assert {each for each in released() if each.split("::")[1] not in there} == listed


def file(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def names(text: str) -> set[str]:
    """Return the names of the tests in a file's text."""
    return set(DEFINED.findall(text))


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
