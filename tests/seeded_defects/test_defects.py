"""The list of defects is whole, each can be seeded into today's code, and a tree is as before afterwards."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.seeded_defects import defects, reach, reports, trials
from tests.seeded_defects.__main__ import RESULTS, main
from tests.seeded_defects.defects import Edition
from tests.seeded_defects.errors import SeedError
from tests.seeded_defects.trees import Tree

if TYPE_CHECKING:
    from tests.seeded_defects.defects import Defect

CHECKOUT = Path(__file__).resolve().parents[2]
DEFECTS = defects.read()
ROOMS = {
    "broker_config",
    "queue_policies",
    "metrics_api",
    "document",
    "plan",
    "operator",
    "kube_client",
    "lead_client",
    "lead_server",
    "save_restore",
    "flux_scheduler",
    "malleable",
    "embedded",
    "instance",
    "local",
    "remote",
    "cli",
}
JUNIT = """<testsuites><testsuite>
<testcase classname="tests.x.test_y" name="test_a[1]" file="tests/x/test_y.py" time="0.5" />
<testcase classname="tests.x.test_y.TestZ" name="test_b" file="tests/x/test_y.py" time="1"><error/></testcase>
<testcase classname="tests.x.test_y" name="test_c" file="tests/x/test_y.py" time="0"><skipped/></testcase>
</testsuite></testsuites>"""
each_defect = pytest.mark.parametrize("defect", DEFECTS, ids=lambda each: each.name)


def test_there_are_sixty_of_different_names() -> None:
    assert len({each.name for each in DEFECTS}) == len(DEFECTS) == 60


def test_each_room_has_at_least_three() -> None:
    found = Counter(each.room for each in DEFECTS)
    assert set(found) == ROOMS
    assert min(found.values()) >= 3


def test_fifteen_take_back_what_was_mended() -> None:
    assert sum(bool(each.mends) for each in DEFECTS) == 15


@each_defect
def test_what_was_caught_before_is_caught(defect: Defect) -> None:
    """By what is kept of the last run in both trees."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    release, today = (kept[name][defect.name]["verdict"] for name in ("release", "today"))
    assert today == "caught" or (release, today) in {("missed", "missed"), ("not run", "not run")}


def test_the_results_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["ROOM", "DEFECT", "0.1.0", "TODAY"]
    assert [row.split()[1] for row in rows] == [each.name for each in DEFECTS]


@each_defect
def test_it_can_be_seeded_today(defect: Defect) -> None:
    text = (CHECKOUT / defect.today.file).read_text(encoding="utf-8")
    seeded = defect.today.seeded(text)
    assert seeded != text
    if defect.today.file.endswith(".py"):
        compile(seeded, defect.today.file, "exec")


@each_defect
def test_the_tests_that_it_names_are_there_today(defect: Defect) -> None:
    for test in (*defect.today.tests, *defect.today.cluster_tests):
        file, _, function = test.partition("::")
        assert f"def {function}" in (CHECKOUT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("find", ["absent", "a"], ids=["nowhere", "twice"])
def test_what_does_not_occur_once_is_not_seeded(find: str) -> None:
    with pytest.raises(SeedError, match="once would be right"):
        Edition("x.py", find, "b").seeded("a = a\n")


@pytest.mark.parametrize(
    ("find", "lines"),
    [
        pytest.param("one", {1}, id="a statement of one line"),
        pytest.param("three", {2, 3}, id="one of two lines"),
        pytest.param("four", {4}, id="a condition, without what depends on it"),
        pytest.param("five", {5}, id="what depends on it"),
    ],
)
def test_which_lines_a_defect_changes(find: str, lines: set[int]) -> None:
    text = "one = 1\ntwo = f(\n    three)\nif four:\n    five = 5\n"
    assert Edition("x.py", find, "x").lines(text) == lines


def test_rooms_and_names_choose() -> None:
    found = defects.chosen(DEFECTS, ["document", "busy-pods-go"])
    assert {each.room for each in found} == {"document", "plan"}
    with pytest.raises(SeedError, match="no room nowhere"):
        defects.chosen(DEFECTS, ["nowhere"])


def test_a_file_is_as_before_whatever_happens(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("a = 1\n")
    os.utime(file, ns=(1, 1))
    with pytest.raises(KeyboardInterrupt), Tree(tmp_path).seeded(Edition("x.py", "1", "2")):  # noqa: PT012
        assert file.read_text() == "a = 2\n"
        raise KeyboardInterrupt
    assert (file.read_text(), file.stat().st_mtime_ns) == ("a = 1\n", 1)


def test_a_tree_without_an_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SeedError, match="has no environment"):
        Tree(tmp_path).check()


def test_what_pytest_wrote_is_read(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    file.write_text(JUNIT)
    assert [(each.nodeid.partition("::")[2], each.outcome, each.seconds) for each in reports.read(file)] == [
        ("test_a[1]", "passed", 0.5),
        ("TestZ::test_b", "failed", 1.0),
        ("test_c", "skipped", 0.0),
    ]


def test_the_cheapest_come_first_and_each_function_has_a_turn() -> None:
    seconds = {"f::a[1]": 1.0, "f::a[2]": 2.0, "f::b": 3.0}
    assert reach.in_turn(seconds, seconds) == ["f::a[1]", "f::b", "f::a[2]"]


def test_no_more_is_run_than_the_limit_allows() -> None:
    assert trials.affordable(["a", "b", "c"], {"a": 1.0, "b": 1.0, "c": 1.0}, 4.0) == (["a", "b"], 1)
