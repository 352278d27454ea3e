"""Random schedules of failures: whatever happens, nothing is left, doubled, or stranded."""

from __future__ import annotations

import asyncio

import pytest

from tests.budgets import examples
from tests.burst.life import schedules


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(2))
def test_whatever_happens(part: int) -> None:
    outcomes = {asyncio.run(schedules.run(2 * seed + part)) for seed in range(examples(20))}
    assert {"succeeded", "failed"} <= outcomes
