"""Each command of a page is typed by the tests of the pages, or listed with the reason why not."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import yaml

from tests.docs import console, pages
from tests.docs.console import Fence

TEST = re.compile(r"(tests/[\w/]+(?:\.py)?)(?:::(test_\w+))?")


@pytest.mark.parametrize("page", pages.PAGES)
def test_every_command_is_in_a_console_block(page: str) -> None:
    """Such a block is typed unless `NOT_TYPED` has it."""
    text = (pages.ROOT / page).read_text(encoding="utf-8")
    found = [each for each in console.fences(text) if each.holds_a_command]
    assert [each.lines[0] for each in found if not each.is_console] == []
    assert len(found) == len(pages.PAGES[page])


@pytest.mark.parametrize(
    ("language", "line", "holds"),
    [
        ("console", "a", True),
        ("sh", "a", True),
        ("", "$ a", True),
        ("text", "$ a", True),
        ("", "  kubectl get pods", True),
        ("", ".venv/bin/minicluster list", True),
        ("", "minicluster: 4 brokers up in 0.54 s", False),
        ("", "0 stdout hello from 0", False),
        ("python", "import os", False),
        ("yaml", "command: make all", False),
    ],
)
def test_what_is_a_command(language: str, line: str, holds: bool) -> None:
    assert Fence("", language, ["above", line]).holds_a_command is holds


def test_what_is_not_typed_is_one_block() -> None:
    count = Counter((page, block.first) for page, blocks in pages.PAGES.items() for block in blocks)
    assert [each for each in pages.NOT_TYPED if count[each] != 1] == []


@pytest.mark.parametrize("reason", sorted(set(pages.NOT_TYPED.values())))
def test_the_tests_that_a_reason_names_are_there(reason: str) -> None:
    for file, name in TEST.findall(reason):
        assert (pages.ROOT / file).exists()
        assert not name or f"def {name}(" in (pages.ROOT / file).read_text()


def test_the_first_document_of_the_readme_is_the_example() -> None:
    """But for the user that Pod Security asks for, which would hide the rest."""
    text = (pages.ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = [each.lines for each in console.fences(text) if each.language == "yaml"]
    example = yaml.safe_load((pages.ROOT / "examples" / "hello-world" / "minicluster.yaml").read_text())
    del example["spec"]["pod"]
    assert yaml.safe_load("\n".join(shown)) == example


def test_dumps_that_readers_make_are_not_left_untracked_in_a_checkout() -> None:
    """The pages of this machine are typed in one, as `minicluster down interactive --dump saved.dump`."""
    saved, removed = set(), ""
    for line in (each.line for blocks in pages.PAGES.values() for block in blocks for each in block.typed):
        saved |= set(re.findall(r"--dump[ =]([\w.-]+)(?![\w./-])", line))
        removed += line if line.startswith("rm ") else ""
    assert "saved.dump" in saved
    assert {name for name in saved if not name.endswith(".dump")} <= set(removed.split())
    assert "/*.dump" in (pages.ROOT / ".gitignore").read_text().splitlines()
