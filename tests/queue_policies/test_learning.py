"""Run times learned from progress."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_policies.gain import UNLIMITED
from queue_policies.learning import Learner


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param([], {4: 800.0, 8: 420.0}, id="nothing: by the limit at its least size"),
        pytest.param([(4, 0.5, 50.0)], {4: 100.0, 8: 52.5}, id="one size: through it"),
        pytest.param([(4, 0.5, 60.0), (8, 0.5, 35.0)], {4: 120.0, 8: 70.0, 16: 45.0}, id="two: 20 + 400 / n"),
        pytest.param([(4, 0.1, 6.0), (4, 0.4, 54.0)], {4: 120.0}, id="progress adds up"),
        pytest.param([(4, 0.5, 50.0), (8, 0.5, 60.0)], {4: 110.0, 8: 110.0}, id="more is no use: constant"),
        pytest.param([(1, 1.0, 90.0), (2, 1.0, 30.0)], {1: 84.0, 2: 42.0}, id="super-linear: no constant"),
        pytest.param(
            [(4, 0.0, 9.0), (4, -0.1, 9.0), (4, 0.1, 0.0)], {4: 800.0}, id="no progress tells nothing"
        ),
    ],
)
def test_what_is_known(seen: list[tuple[int, float, float]], expected: dict[int, float]) -> None:
    """The estimate that a job was given tells what was seen afterwards, too."""
    learner = Learner()
    estimate = learner.estimate("stencil", least=4, limit=800.0)
    for size, fraction, seconds in seen:
        learner.observe("stencil", size, fraction, seconds)
    assert {size: pytest.approx(seconds) for size, seconds in expected.items()} == {
        size: estimate.seconds(size) for size in expected
    }


def test_programs_are_distinguished() -> None:
    learner = Learner()
    learner.observe("stencil", 4, 0.5, 50.0)
    assert learner.estimate("queens", least=2).seconds(2) == UNLIMITED


@given(
    constant=st.floats(0, 1e4),
    work=st.floats(1e-3, 1e6),
    sizes=st.lists(st.integers(1, 64), min_size=2, max_size=5, unique=True),
)
def test_true_run_times_are_found(constant: float, work: float, sizes: list[int]) -> None:
    learner = Learner()
    for size in sizes:
        learner.observe("program", size, 0.3, 0.3 * (constant + work / size))
    found = learner.estimate("program", 1)
    for size in (1, 7, 64):
        assert math.isclose(found.seconds(size), constant + work / size, rel_tol=1e-3, abs_tol=1e-3)
