"""A request of another process, on a real API server: its pods are made at once, however far ticks are apart.

The lead is a model, and no node is there: `-s` shows how soon the pods are.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from burst import loop
from burst.lifecycle.records import label_of
from burst.lifecycle.states import Timeouts
from tests.burst.proofs.looping_service import looping
from tests.burst.proofs.speeds import ask
from tests.burst.proofs.stored_slots import StoredLead
from tests.burst.providers.conformance.rigs import KubernetesRig

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.devcluster import Api

REQUESTS = 5


def test_pods_are_applied_once_a_burst_is_asked_for(
    api: Api, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = KubernetesRig(api, namespace)
    provider = rig.provider
    provider.name, provider.location = "stored", "files"  # as `ask` has them
    jobs, pods = f"/apis/batch/v1/namespaces/{namespace}/jobs", f"/api/v1/namespaces/{namespace}/pods"

    async def until_named(path: str, label: str) -> float:
        while not any(label in each["metadata"]["name"] for each in api.items(path)):
            await asyncio.sleep(0.01)
        return time.monotonic()

    async def work() -> list[tuple[float, float]]:
        lead, timeouts = lambda cluster: StoredLead(tmp_path, cluster), Timeouts()
        took = []
        async with looping(f"sqlite:///{tmp_path}/burst.db", provider, lead, timeouts) as service:
            while service.loop.done is None:
                await asyncio.sleep(0.01)
            for number in range(REQUESTS):
                begun = time.monotonic()
                burst = await ask(service.other, number, machine=rig.machine)
                applied = await until_named(jobs, label_of(burst))
                took.append((applied - begun, await until_named(pods, label_of(burst)) - begun))
        return took

    monkeypatch.setattr(loop, "TICK", 3600.0)
    took = asyncio.run(asyncio.wait_for(work(), 300))
    for what, index in (("Job", 0), ("pods", 1)):
        print(f"{what} after a request: {', '.join(f'{each[index]:.2f}' for each in took)} s")
    assert len(api.items(pods)) == REQUESTS
