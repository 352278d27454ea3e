"""What the status makes of a broker's answers: queues that are stopped, troubles, ranks."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.lead_server import status
from tests.lead.scripted_link import FULL, STARTED, STOPPED, resources


@pytest.mark.parametrize(
    ("queues", "halted"),
    [
        pytest.param({"a": STARTED, "b": STARTED}, [], id="none"),
        pytest.param({"a": STOPPED, "b": FULL}, ["queue a: stopped", "queue b: the disk is full"], id="some"),
        pytest.param({"a": FULL, "b": FULL}, ["queue a, b: the disk is full"], id="alike"),
        pytest.param({"": {}}, [], id="no answer"),
        pytest.param({"": {**STOPPED, "stop_reason": "x" * 999}}, ["x" * 200], id="long"),
    ],
)
def test_queues_that_start_no_jobs(queues: dict[str, Any], halted: list[str]) -> None:
    assert status.halted(queues) == halted


def test_queues_of_bursts_are_not_named() -> None:
    assert status.halted({"a": STOPPED, "burst": STOPPED}, {"burst"}) == ["queue a: stopped"]


def health(*children: dict[str, Any]) -> dict[str, Any]:
    return {"children": list(children)}


HOSTS = ("mc-0", "mc-1", "mc-2", "mc-3")
LOST = {"rank": 2, "status": "lost", "duration": 5.0, "error": "lost connection"}
LEFT = {"rank": 1, "status": "offline", "duration": 1.0, "error": "administrative shutdown"}
ABSENT = {"rank": 3, "status": "offline", "duration": 9.0}


@pytest.mark.parametrize(
    ("rejected_peers", "answer", "expected"),
    [
        pytest.param([], {}, [], id="no answer"),
        pytest.param([], health(ABSENT), [], id="never came"),
        pytest.param(
            [],
            health(LOST, LEFT),
            ["mc-1: offline: administrative shutdown", "mc-2: lost: lost connection"],
            id="newest first",
        ),
        pytest.param(
            ["10.0.0.7: turned away: wrong certificate"],
            health(LOST),
            ["10.0.0.7: turned away: wrong certificate", "mc-2: lost: lost connection"],
            id="at the door first",
        ),
        pytest.param([f"{n}" for n in range(20)], {}, [f"{n}" for n in range(8)], id="eight at most"),
        pytest.param(["x" * 900], {}, ["x" * 200], id="cut"),
        pytest.param(["a", "a"], {}, ["a"], id="once"),
    ],
)
def test_troubles(rejected_peers: list[str], answer: dict[str, Any], expected: list[str]) -> None:
    """Why brokers are not there."""
    assert status.troubles(rejected_peers, answer, HOSTS) == expected


def test_ranks_of_bursts_are_not_missed() -> None:
    assert status.troubles([], health(LOST, LEFT), HOSTS, {2}) == ["mc-1: offline: administrative shutdown"]


@pytest.mark.parametrize(
    ("ranks", "busy"),
    [([], ""), (["1"], "1"), (["0-1", "3"], "0-1,3"), (["3", "0-1", "2"], "0-3")],
    ids=["none", "one", "two parts", "unordered"],
)
def test_busy(ranks: list[str], busy: str) -> None:
    """Ranks of R's parts together."""
    assert status.ranks_of(resources(allocated=ranks), "allocated") == busy


def test_busy_of_an_empty_answer() -> None:
    """As real Flux gives it before there is a job manager."""
    assert status.ranks_of({"allocated": None}, "allocated") == ""


@pytest.mark.parametrize(
    ("left", "right", "met"), [("0-2", "2-3", True), ("0-1", "2", False), ("", "1", False), ("1", "", False)]
)
def test_meet(left: str, right: str, met: bool) -> None:
    """Whether somebody waits for the jobs of a drained rank."""
    assert status.meet(left, right) is met
