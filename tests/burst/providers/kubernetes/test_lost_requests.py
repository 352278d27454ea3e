"""The connection ends at each request of a burst's life in turn, before or after it takes effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from burst.errors import RetryLater
from burst.lifecycle.records import ResourcePhase

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.burst.providers.kubernetes.conftest import FarCluster

TRIES = 5


def again(work: Callable[[], bool]) -> None:
    """Do it until it is done, as a service does that has written its intent."""
    for _ in range(TRIES):
        try:
            if work():
                return
        except RetryLater:
            continue
    raise AssertionError(f"not done in {TRIES} tries")


def live(far: FarCluster) -> None:
    """Make a burst, see it ready, and delete it until nothing is left."""

    def ready() -> bool:
        if far.get().phase is ResourcePhase.ABSENT:
            far.create()
        return far.get().phase is ResourcePhase.READY

    def gone() -> bool:
        if far.get().phase is not ResourcePhase.ABSENT:
            far.delete()
        return far.get().phase is ResourcePhase.ABSENT and not list(far.provider.owned("here"))

    again(ready)
    assert [len(far.api.of(kind)) for kind in ("jobs", "secrets", "networkpolicies", "pods")] == [1, 1, 1, 2]
    again(gone)
    assert not [path for path in far.api.items if "mcb-" in path]


@pytest.mark.parametrize("effect", [False, True], ids=["before", "after"])
def test_each_request_in_turn(far: FarCluster, effect: bool) -> None:
    far.api.page = 500
    live(far)
    count = len(far.api.requests)
    assert count > 30
    for number in range(count):
        first = len(far.api.requests)
        # The second one is for what the client tries once more by itself.
        far.api.lost = {first + number: effect, first + number + 1: effect}
        live(far)
