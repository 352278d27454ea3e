"""A service's loop: what another process asks for is made at once, however long its ticks are apart."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from burst import loop
from burst.ledger import bursts
from burst.lifecycle.states import BurstState, Timeouts
from tests.burst.proofs.looping_service import looping
from tests.burst.proofs.speeds import ask
from tests.burst.proofs.stored_slots import StoredLead, StoredProvider

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from burst.ledger.ledger import BurstLedger


def test_a_request_of_another_process_is_served_at_once(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        made = StoredProvider(tmp_path, 1)
        async with looping(url, made, lambda cluster: StoredLead(tmp_path, cluster), Timeouts()) as service:
            while service.loop.done is None:
                await asyncio.sleep(0.01)
            for number in range(2):
                burst = await ask(service.other, number)
                while await _state(service.other, burst) is not BurstState.ACTIVE:
                    await asyncio.sleep(0.01)

    async def _state(ledger: BurstLedger, burst: str) -> BurstState:
        return (await ledger.read(lambda connection: bursts.by_id(connection, burst))).state

    monkeypatch.setattr(loop, "TICK", 3600.0)
    asyncio.run(asyncio.wait_for(work(), 60))
