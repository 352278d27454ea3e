"""Functions of planning that the settings name: found by entry point, and what comes of bad ones."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import pytest

from burst import plan_hooks
from burst.errors import SettingsInvalid
from burst.planning.hooks import PlanHooks
from burst.planning.plan import plan
from burst.settings.file import parse
from tests.burst.planning.plan_requests import job, request

if TYPE_CHECKING:
    from pathlib import Path

    from burst.planning.records import BurstableJob, BurstSelection

HERE = "tests.burst.test_plan_hooks"
ENTRIES = f"""\
[minicluster.burst_selectors]
small = {HERE}:small
broken = {HERE}:broken
number = {HERE}:by_size
absent = my_selectors:night
constant = math:pi
[minicluster.burst_ranks]
by-size = {HERE}:by_size
broken = {HERE}:broken
nan = {HERE}:nothing
"""


def small(found: BurstableJob, _selection: BurstSelection, _now: float) -> str:
    return "" if found.request.nodes < 3 else "it is not small"


def by_size(found: BurstableJob, *_more: object) -> float:
    return -found.request.nodes


def broken(*_given: object) -> str:
    raise KeyError("size")


def nothing(_job: BurstableJob) -> float:
    return math.nan


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "my_hooks-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my_hooks\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(tmp_path))


def hooks(text: str) -> PlanHooks:
    return plan_hooks.loaded(parse(text, source="f"))


def test_without_names_they_are_ours() -> None:
    assert hooks("") == PlanHooks() == hooks("{selector: document, rank: priority}")


def test_a_plan_is_made_by_those_that_are_named() -> None:
    found = plan(request(job(1), job(2, 2), job(3, 3)), hooks("{selector: small, rank: by-size}"))
    assert [each.jobs for each in found.bursts] == [(2, 1)]
    assert found.left_out == ((3, "it is not small"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "selector: smal",
            'f:1: selector: no selector is called "smal"; did you mean "small"?',
        ),
        (
            "\nrank: zzz",
            'f:2: rank: no rank is called "zzz"; known: priority, broken, by-size, nan',
        ),
        (
            "selector: absent",
            (
                "f:1: selector: my_selectors:night does not load: ModuleNotFoundError: No module named"
                " 'my_selectors'"
            ),
        ),
        ("selector: constant", f"f:1: selector: math:pi is no function: {math.pi}"),
        ("selector: A b", 'f:1: selector: found the text "A b", allowed is the name of an entry point'),
    ],
)
def test_what_cannot_be_loaded_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsInvalid) as raised:
        hooks(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("broken", "selector broken failed: KeyError: 'size'"),
        ("number", "selector number returned -1, right would be a text"),
    ],
)
def test_a_job_that_its_selector_cannot_judge_is_left_out(name: str, reason: str) -> None:
    found = plan(request(job(1)), hooks(f"selector: {name}"))
    assert (found.bursts, found.left_out) == ((), ((1, reason),))


def test_a_job_that_cannot_be_ranked_comes_last(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert hooks("rank: broken").rank(job(1)) == math.inf
    assert caplog.messages == ["rank broken failed, the job comes last: KeyError: 'size'"]
    assert hooks("rank: nan").rank(job(1)) == math.inf
