"""The whole life of a burst on a real API server: services are killed amid, and nothing is left or doubled.

The lead and its jobs are a model, as in tests/burst/life; pods are on fake nodes.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from burst.ledger.schema import SCHEMA
from burst.providers.memory import PODS
from minicluster.database import open_database
from tests.burst.life.meter import Meter
from tests.burst.life.model_lead import ModelLead
from tests.burst.life.world import MEMORY, OFFER, SLOT, World
from tests.burst.providers.conformance.rigs import KubernetesRig
from tests.database import ready_file
from tests.kubernetes import inventory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from burst.lifecycle.records import ResourceReport
    from burst.providers.provider import BurstProvider
    from tests.devcluster import Api, ControlPlane

CALLS = ("create", "get", "delete", "owned")
KILLS = [(way, call) for call in CALLS for way in ("before", "after", "lost")]


@dataclass
class PodsOf:
    """The pods of bursts, as the model of a lead asks for them."""

    rig: KubernetesRig

    def there(self) -> list[ResourceReport]:
        """Return what there is; the provider's calls block, and this is called in an event loop."""
        with ThreadPoolExecutor(1) as thread:
            found = thread.submit(self.rig.provider.owned, "here").result()
        return [each._replace(key=each.key._replace(kind=PODS)) for each in found]


@dataclass
class ServedWorld(World):
    """A world whose provider is an API server; its clock begins now, as Jobs end by the server's."""

    rig: Any = None
    now: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        pods: Any = PodsOf(self.rig)
        self.cloud = pods
        self.lead = ModelLead(pods, SLOT.size)
        self.begin()

    def provider(self) -> BurstProvider:
        """Return the provider, under the name that the request's offer has."""
        made = KubernetesRig(self.rig.api, self.rig.namespace).provider
        made.name, made.location = OFFER.provider, "memory-1"
        for name in CALLS:
            setattr(made, name, self.meter.call(f"provider {name}", getattr(made, name)))
        return made

    async def tick(self) -> None:
        """Let what the server has begun be done before the clock goes on."""
        await super().tick()
        await asyncio.to_thread(self.rig.wait)


@contextlib.asynccontextmanager
async def opened(rig: KubernetesRig, kill: tuple[str, int] | None = None) -> AsyncIterator[ServedWorld]:
    """Give a world with a ledger in memory."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        file = Path(folder) / "burst.db"
        file.write_bytes(ready_file.content(SCHEMA))
        database = await open_database(f"sqlite:///{file}", SCHEMA)
        try:
            yield ServedWorld(database, meter=Meter(kill), rig=rig)
        finally:
            await database.close()


async def life(rig: KubernetesRig, kill: tuple[str, int] | None = None) -> ServedWorld:
    """Let a burst of two jobs live, and prove that it has done what it was for and left nothing."""
    async with opened(rig, kill) as world:
        before = inventory.of(rig.api)
        await world.request(3, 4, seconds=5.0)
        await world.run()
        assert {each for each in inventory.of(rig.api) - before if "mcb-" in each} == set()
        assert world.lead.lost == []
        assert [one.runs for one in world.lead.jobs.values()] == [1, 1]
        assert world.meter.kill is None
        return world


@pytest.fixture
def rig(plane: ControlPlane, api: Api, namespace: str) -> KubernetesRig:
    plane.add_fake_nodes(4)
    return KubernetesRig(api, namespace)


@pytest.mark.timeout(600)
def test_a_service_is_killed_at_each_kind_of_call(rig: KubernetesRig) -> None:
    """At the last one of each kind, as for the first ones there is the grid in memory."""
    names = asyncio.run(life(rig)).meter.names
    points = {call: len(names) - names[::-1].index(f"provider {call}") for call in CALLS}
    for way, call in KILLS:
        world = asyncio.run(life(rig, (way, points[call])))
        assert world.services == (1 if way == "lost" else 2), (way, call)
