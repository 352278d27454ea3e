"""Limits on several ranks, and reports that cannot be."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest

from minicluster.embedded.execution.lead.limits import RankCpuLimits
from minicluster.embedded.jobs.cpu_quotas import limits


class Events:
    def __init__(self) -> None:
        self.got: list[Any] = []

    def limited(self, *arguments: Any) -> None:
        self.got.append(arguments)

    def used(self, *arguments: Any) -> None:
        self.got.append(arguments)


def run() -> Any:
    return cast("Any", SimpleNamespace(id=7, running={0, 1}, limited={}, events=Events()))


def test_a_limit_is_reported_once_it_holds_on_all_ranks() -> None:
    job, passed = run(), RankCpuLimits(cast("Any", None))
    for rank, order, way in ((0, 1, "cgroup-v1"), (0, 2, "cgroup-v1"), (1, 1, "affinity")):
        passed.limited(job, rank, cast("Any", {"order": order, "way": way}), b"")
    assert job.events.got == [(7, 1, ["affinity", "cgroup-v1"])]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0], ids=["no number", "endless", "negative"])
@pytest.mark.parametrize("name", ["seconds", "cpu", "memory"])
def test_usage_that_cannot_be_is_passed_over(name: str, wrong: float) -> None:
    job, passed = run(), RankCpuLimits(cast("Any", None))
    sample = {"seconds": 1.0, "cpu": 0.5, "memory": 0.1}
    passed.used(job, 0, cast("Any", sample | {name: wrong}), b"")
    passed.used(job, 0, cast("Any", sample), b"")
    assert job.events.got == [(7, 0, 1.0, 0.5, 0.1)]


@pytest.mark.parametrize(
    ("own", "cores", "fraction", "guest", "expected"),
    [
        pytest.param({0: (15, 0)}, {0: (15, 0)}, 0.75, False, {0: (3.0, [0, 1, 2])}, id="a host: the lowest"),
        pytest.param({0: (8, 0)}, {0: (15, 0)}, 0.25, True, {0: (1.0, [3])}, id="a guest: the highest"),
        pytest.param({0: (12, 0)}, {0: (12, 0)}, 1.0, False, {0: (None, [2, 3])}, id="lifted"),
        pytest.param(
            {0: (15, 0), 1: (3, 0)},
            {0: (15, 0), 1: (3, 0)},
            0.5,
            False,
            {0: (2.0, [0, 1]), 1: (1.0, [0])},
            id="on each rank",
        ),
        pytest.param({0: (1, 0)}, {0: (1, 0)}, 0.25, True, {0: (0.25, [0])}, id="less than a core"),
    ],
)
def test_limits_of_a_fraction(own: Any, cores: Any, fraction: float, guest: bool, expected: Any) -> None:
    found = limits(own, cores, fraction, 3, guest=guest)
    assert {rank: (each["cores"], each["ids"]) for rank, each in found.items()} == expected
    assert {each["order"] for each in found.values()} == {3}
