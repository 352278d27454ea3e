"""A burst whose provider needs more time than usual gets it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from burst.advance.context import AdvanceContext
from burst.lifecycle.records import BurstRecord
from burst.lifecycle.states import Timeouts
from burst.planning.records import NodeShape, Offer

QUICK = Offer("own", "c8", NodeShape(8))
SLOW = Offer("own", "c9", NodeShape(8), provisioning=1800.0)


@pytest.mark.parametrize(
    ("machine", "provider", "seconds"),
    [("c8", "own", 600.0), ("c9", "own", 1800.0), ("c9", "gone", 600.0)],
    ids=["usual", "slow", "unknown"],
)
def test_the_deadline_is_that_of_what_was_chosen(machine: str, provider: str, seconds: float) -> None:
    nobody: Any = None
    providers: Any = {"own": SimpleNamespace(offers=lambda: (QUICK, SLOW))}
    context = AdvanceContext(nobody, "here", providers, nobody)
    burst = BurstRecord("62dgmfw4gk", "mc", "burst-0", provider, "here", machine, 2, 0.0, 9e9)
    assert context.deadlines(burst) == Timeouts(provisioning=seconds)
