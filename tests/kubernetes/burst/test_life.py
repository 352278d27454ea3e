"""The whole life of a burst on a real API server: services are killed amid, and nothing is left or doubled.

The lead and its jobs are a model, as in tests/burst/life; pods are on fake nodes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from burst.joining.workers import LABEL_BURST, LABEL_OWNER, name_of
from burst.ledger.schema import SCHEMA
from burst.lifecycle.records import ResourceKey, ResourcePhase, ResourceReport
from burst.providers.memory import PODS
from burst.providers.provider import WantedBurst
from burst.sweep import ORPHAN_SECONDS
from minicluster.database import open_database
from tests.burst.life.meter import Meter
from tests.burst.life.model_lead import ModelLead
from tests.burst.life.world import MEMORY, OFFER, SLOT, World
from tests.burst.providers.conformance.rigs import KubernetesRig
from tests.database import ready_file
from tests.devcluster import until
from tests.kubernetes import inventory, script_pods

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from burst.providers.provider import BurstProvider
    from tests.devcluster import Api, ControlPlane

CALLS = ("create", "get", "delete", "owned")
WAYS = ("before", "after", "lost")
LABEL = "62dgmfw4gk"
KINDS = (("/api/v1", "pods"), ("/apis/batch/v1", "jobs"))
AT_ONCE = 4
"""Lives, each in a namespace of its own: most of one is waiting for the API server."""
SECONDS = 120.0  # a machine that does other things as well takes longer than the 10 that it needs


@dataclass
class PodsOf:
    """The pods of bursts, as the model of a lead asks for them."""

    rig: KubernetesRig

    def there(self) -> list[ResourceReport]:
        """Return those that run: a lead knows nothing of what else there is, and it asks often."""
        query = urlencode({"labelSelector": f"{LABEL_OWNER}=here", "fieldSelector": "status.phase=Running"})
        found: Counter[str] = Counter()
        for pod in self.rig.api.items(f"/api/v1/namespaces/{self.rig.namespace}/pods?{query}"):
            if "deletionTimestamp" not in pod["metadata"]:
                found[pod["metadata"]["labels"][LABEL_BURST]] += 1
        ready = ResourcePhase.READY
        return [
            ResourceReport(ResourceKey(PODS, name_of(label), pods), ready, nodes=pods)
            for label, pods in found.items()
        ]


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
        await asyncio.to_thread(until, self.rests, "the burst to have come or gone", SECONDS)

    def rests(self) -> bool:
        """Return whether nothing of the burst is coming or going."""
        moving = (ResourcePhase.COMING, ResourcePhase.GOING)
        return not any(each.phase in moving for each in self.rig.provider.owned("here"))


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
        await world.request(3, 4, seconds=5.0)
        await world.run()
        assert [each for each in inventory.of(rig.api) if f"{rig.namespace}/mcb-" in each] == []
        assert world.lead.lost == []
        assert [one.runs for one in world.lead.jobs.values()] == [1, 1]
        assert world.meter.kill is None
        return world


@pytest.fixture
def rig(plane: ControlPlane, api: Api, namespace: str) -> KubernetesRig:
    plane.add_fake_nodes(4)
    return KubernetesRig(api, namespace)


def points(names: list[str]) -> dict[str, int]:
    """Return a late call of each kind, and three commits, by their numbers from 1.

    The very last ones are not there in each life: a real server takes its time.
    """

    def numbers(wanted: str) -> list[int]:
        return [number for number, name in enumerate(names, 1) if name == wanted]

    late = {call: numbers(f"provider {call}")[-2:][0] for call in CALLS}
    commits = numbers("commit")
    return {**late, **{f"commit {part} of 4": commits[part * len(commits) // 4] for part in (1, 2, 3)}}


@pytest.mark.timeout(600)
def test_a_service_is_killed_at_each_kind_of_call_and_amid_commits(rig: KubernetesRig) -> None:
    """The whole grid is in memory, in tests/burst/life."""
    chosen = points(asyncio.run(life(rig)).meter.names)
    lives = Queue[KubernetesRig]()

    def lived(way: str, number: int) -> int:
        free = lives.get()
        try:
            return asyncio.run(life(free, (way, number))).services
        finally:
            lives.put(free)

    with contextlib.ExitStack() as spaces, ThreadPoolExecutor(AT_ONCE) as threads:
        for _ in range(AT_ONCE):
            lives.put(KubernetesRig(rig.api, spaces.enter_context(script_pods.space(rig.api))))
        killed = {
            (way, call): threads.submit(lived, way, number)
            for way, (call, number) in itertools.product(WAYS, chosen.items())
        }
        services = {point: each.result() for point, each in killed.items()}
    assert services == {(way, call): 1 if way == "lost" else 2 for way, call in killed}


def test_what_nobody_ends_ends_by_itself_and_is_swept_without_a_ledger(rig: KubernetesRig) -> None:
    """The service, its ledger and the lead are gone for good; another one knows the installation alone."""
    before = inventory.of(rig.api)
    end = time.time() + 8.0
    wanted = WantedBurst(LABEL, "here", 2, rig.machine, spot=False, until=end, cluster="mc", slot="burst-0")
    [key] = rig.provider.resources(wanted)
    rig.provider.create(key, "token", wanted)
    until(lambda: rig.provider.get(key, wanted).phase is ResourcePhase.READY, "its pods to run", SECONDS)
    pods, job = (f"{prefix}/namespaces/{rig.namespace}/{kind}" for prefix, kind in KINDS)
    until(lambda: not rig.api.items(pods), "its pods to end", SECONDS)
    assert time.time() >= end - 2  # seconds are whole there, and here
    conditions = rig.api.get(f"{job}/mcb-{LABEL}")["status"]["conditions"]
    assert "DeadlineExceeded" in {each.get("reason") for each in conditions}

    async def swept() -> list[tuple[str, str]]:
        async with opened(rig) as world:
            world.now = time.time() + ORPHAN_SECONDS
            await world.tick()
            assert world.service.report is not None
            return [(each.status.key.name, each.action) for each in world.service.report.orphans]

    assert asyncio.run(swept()) == [(f"mcb-{LABEL}", "deleted")]
    until(lambda: inventory.of(rig.api) - before == set(), "nothing to be left", SECONDS)
