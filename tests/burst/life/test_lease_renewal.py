"""A service whose work takes longer than its lease keeps it, where another one waits for it."""

from __future__ import annotations

import pytest

from burst.errors import LeaseLost
from burst.ledger.ledger import LEASE_SECONDS, BurstLedger
from tests.burst.life.world import World, lived


def test_a_lease_is_kept_amid_work() -> None:
    async def scenario(world: World) -> None:
        await world.ledger.acquire()
        for _ in range(3):
            world.now += LEASE_SECONDS / 2
            await world.ledger.keep()
        with pytest.raises(LeaseLost, match="service-1 advances bursts"):
            await BurstLedger(world.database, "other", world.clock).acquire()

    lived(scenario)
