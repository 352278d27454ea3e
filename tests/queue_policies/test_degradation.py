"""How much slower hosts were than their quotas explain."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies import degradation
from queue_policies.sharing import JobEnd

HALF = ((20.0, 0.5), (60.0, 1.0))
"""A guest had half of the cores from 20 s to 60 s."""


@pytest.mark.parametrize(
    ("ended", "cpu", "quotas", "expected"),
    [
        pytest.param(100.0, 0.5, HALF, 0.0, id="as without a guest"),
        pytest.param(120.0, 1.0, HALF, 0.0, id="as slow as its quota has it"),
        pytest.param(120.0, 0.5, HALF, 1.0, id="it did 20 s of work in 40 s"),
        pytest.param(130.0, 1.0, HALF, 1.0, id="it did 10 s of work, where its quota let it do 20 s"),
        pytest.param(90.0, 0.5, HALF, 0.0, id="faster than alone"),
        pytest.param(138.0, 0.5, HALF, 4.0, id="more is all the same"),
        pytest.param(110.0, 0.5, ((20.0, 0.5),), 0.125, id="to its end"),
        pytest.param(100.0, 0.5, ((20.0, 0.5), (30.0, 1.0)), None, id="for too short a while"),
        pytest.param(150.0, 0.5, HALF, None, id="a longer run than others"),
        pytest.param(100.0, 0.5, ((0.0, 0.5),), None, id="it began as a guest"),
        pytest.param(100.0, 0.5, (), None, id="without a guest"),
    ],
)
def test_what_a_run_shows(ended: float, cpu: float, quotas: Any, expected: float | None) -> None:
    """The program takes 100 s alone."""
    found = degradation.of_run(JobEnd(1, 0.0, ended, quotas=quotas), 100.0, cpu)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("quota", "used", "expected"),
    [(0.75, 0.6, 0.0), (0.75, 0.4, 0.5), (0.5, 0.25, 1.0), (0.5, 0.0, 4.0), (0.5, 0.5, 0.0)],
)
def test_what_is_seen_while_it_runs(quota: float, used: float, expected: float) -> None:
    """It uses 60 % of its cores alone."""
    assert degradation.while_running(0.6, quota, used) == pytest.approx(expected)


def test_what_is_known_of_a_program_is_of_its_latest_runs_and_is_forgotten_slowly() -> None:
    first = degradation.after_run(0.0, 1.0)
    second = degradation.after_run(first, 0.5)
    later = second
    for _ in range(20):
        later = degradation.after_run(later, None)
    assert (first, second, degradation.after_run(0.0, None)) == (1.0, 0.75, 0.0)
    assert later < degradation.MUCH < second
