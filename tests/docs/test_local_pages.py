"""Every block of the README and the guides that needs no cluster does, typed, what the page shows."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs import console, pages, reader
from tests.docs.console import Typed

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCAL = [page for page in pages.PAGES if pages.local(page)]


@pytest.fixture
def desk(request: pytest.FixtureRequest) -> Iterator[tuple[Path, dict[str, str]]]:
    """A checkout and an environment; nothing of a cluster may be left when the page is over."""
    directory = Path(tempfile.mkdtemp(prefix="mcd-", dir="/tmp"))
    names = {"MINICLUSTER_RUNTIME_DIR": "m", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}
    environment = reader.environment(
        reader.checkout(directory), **{name: str(directory / folder) for name, folder in names.items()}
    )
    yield directory, environment
    listed = _minicluster(environment, "list", "--output", "json")
    left = [row["name"] for row in json.loads(listed)]
    for name in left:
        _minicluster(environment, "down", name)
    shutil.rmtree(directory, ignore_errors=True)
    assert left == [], "the page leaves clusters behind"


def _minicluster(environment: dict[str, str], *words: str) -> str:
    command = [f"{environment['PATH'].partition(':')[0]}/minicluster", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", LOCAL)
def test_a_page_is_as_typed(page: str, desk: tuple[Path, dict[str, str]]) -> None:
    (desk[0] / "example.py").write_text(pages.program(page))
    wrong = reader.differences(*desk, pages.local(page))
    assert not wrong, "\n".join(wrong)


def test_each_heading_on_a_cluster_is_still_there() -> None:
    there = {(page, block.section) for page, blocks in pages.PAGES.items() for block in blocks}
    assert {each for each in pages.ON_A_CLUSTER if each[1]} - there == set()


def test_a_block_is_taken_apart() -> None:
    text = "# A\n```console\n$ cat > x <<'END'\n$ no\nEND\n$ cat x\n$ no\n```\n"
    (block,) = console.blocks(text.replace("$ cat x\n$ no", "$ cat x\nshown"))
    assert block.section == "A"
    assert block.typed == (Typed("cat > x <<'END'\n$ no\nEND", ()), Typed("cat x", ("shown",)))


def test_a_heading_within_a_block_is_none() -> None:
    text = "# A\n```console\n$ cat x\n# B\n```\n## C\n```console\n$ d\n```\n"
    assert [(block.section, block.first) for block in console.blocks(text)] == [("A", "cat x"), ("C", "d")]


def test_a_line_that_goes_on_is_typed_with_the_next() -> None:
    text = "```console\n$ a \\\n  b |\n  c\nshown\n$ d\n```\n"
    (block,) = console.blocks(text)
    assert block.typed == (Typed("a \\\n  b |\n  c", ("shown",)), Typed("d", ()))


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [
        (("ƒ2FdC  RUN  3s",), "ƒAAAA RUN 12m3s\n", True),
        (("node-1  Ready  16s",), "node-1 Ready 12m\n", True),
        (("0: a", "1: b"), "1: b\n0: a\n", True),
        (("0: a", "end", "1: b"), "1: b\nend\n0: a\n", False),
        (("a", "…", "z"), "a\nb\nc\nz\n", True),
        (("a", "…", "z"), "a\nb\n", False),
        (("saved to /home/you/x.tar",), "saved to /tmp/y.tar\n", True),
        (("4 brokers up in 0.83 s",), "4 brokers up in 1 s\n", True),
        (("4 brokers",), "3 brokers\n", False),
        (("before … after",), "before and after\n", True),
        ((), "anything\n", False),
    ],
    ids=[
        "id-time",
        "age",
        "tasks",
        "not-tasks",
        "lines",
        "no-lines",
        "path",
        "seconds",
        "count",
        "within",
        "nothing",
    ],
)
def test_what_is_shown_is_compared(shown: tuple[str, ...], real: str, same: bool) -> None:
    assert console.differs(shown, real) is not same


def test_a_line_that_fails_is_named(desk: tuple[Path, dict[str, str]]) -> None:
    """Variables and jobs in the background live on from line to line, as in a terminal."""
    text = "```console\n$ a=1\n$ sleep 60 &\n$ kill %1\n$ echo $a\n1\n$ echo $a\n2\n$ false\n```\n"
    assert reader.differences(*desk, console.blocks(text)) == [
        "$ echo $a\n[0] it shows\n1\n\nthe page has\n2\n",
        "$ false\n[1] it shows\n\nthe page has\n",
    ]
