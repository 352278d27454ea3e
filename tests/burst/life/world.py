"""A cloud, a MiniCluster and a ledger with one clock; services may be killed at any call or commit."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from broker_config.formats.jobspec import RequestedResources
from burst.advance.context import AdvanceContext
from burst.asked import JobOrigin, LeadIdentity, request
from burst.ledger import bursts, jobs, journal, reservations
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.lifecycle.states import Timeouts
from burst.planning.plan import plan
from burst.planning.records import (
    BudgetLimit,
    BurstableJob,
    BurstPlanRequest,
    BurstSelection,
    BurstSlot,
    Durations,
    NodeShape,
    Offer,
)
from burst.providers.memory import NODES, MemoryCloud, MemoryProvider
from burst.service import BurstService
from minicluster.database import DatabaseAway, open_database
from tests.burst.life.bill import check_money
from tests.burst.life.meter import Killed, Meter
from tests.burst.life.model_lead import MeteredLead, ModelLead
from tests.database import ready_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from burst.lifecycle.records import AssignedJob, BurstRecord
    from burst.providers.provider import BurstProvider
    from minicluster.database import Database

W = TypeVar("W", bound="World")
MEMORY = Path("/dev/shm")
"""Where a file is in memory: thousands of commits wait for the disk elsewhere."""
TICK = 5.0
OFFER = Offer("memory", "c8", NodeShape(8), price=3_600_000)
"""A node costs one unit of money a second, in micro-units 1,000 a second."""
SLOT = BurstSlot("burst-0", 4, NodeShape(8))
DURATIONS = Durations(window=300.0, provisioning=60.0, joining=60.0, draining=60.0, deleting=60.0)
TIMEOUTS = Timeouts(
    planned=60.0, provisioning=60.0, joining=60.0, draining=60.0, idle=20.0, lost=20.0, verified=15.0
)


class MeteredProvider(MemoryProvider):
    """A provider each of whose calls is counted."""

    def __init__(self, cloud: MemoryCloud, meter: Meter, world: World) -> None:
        super().__init__(cloud, [OFFER])
        self._world = world
        for name in ("create", "get", "delete", "owned"):
            setattr(self, name, meter.call(f"provider {name}", getattr(self, name)))

    def offers(self) -> list[Offer]:
        """Return what it has now."""
        return [OFFER._replace(fee=self._world.fee)]


class MeteredDatabase:
    """A database each of whose commits is counted."""

    def __init__(self, database: Database, meter: Meter) -> None:
        self._database = database
        self._meter = meter
        self.read, self.reading = database.read, database.reading
        self.notify = database.notify

    async def writing(self, work: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        self._meter.before("commit")
        number = len(self._meter.names)
        found = await self._database.writing(work)
        self._meter.after(number, DatabaseAway("the answer was lost"))
        return found


@dataclass
class World:
    """All that outlives a service."""

    database: Database
    now: float = 1_000_000.0
    meter: Meter = field(default_factory=Meter)
    limits: dict[str, int] = field(default_factory=dict)
    services: int = 0
    ticks: list[float] = field(default_factory=list)
    """When services have done all that there was to do: every call was answered."""
    fee: int = 0
    """Of an hour of each burst."""
    is_ending: bool = False
    """Whether the MiniCluster is being deleted."""

    def __post_init__(self) -> None:
        self.cloud = MemoryCloud(self.clock, coming=TICK, going=TICK)
        self.lead = ModelLead(self.cloud, SLOT.size)
        self.begin()

    def clock(self) -> float:
        return self.now

    def begin(self) -> None:
        """Start a service, as after the end of another one."""
        self.services += 1
        metered: Any = MeteredDatabase(self.database, self.meter)
        self.ledger = BurstLedger(metered, f"service-{self.services}", self.clock)
        provider = self.provider()
        self.context = AdvanceContext(
            self.ledger,
            "here",
            {"memory": provider},
            lambda _cluster: MeteredLead(self.lead, self.meter),
            lambda _burst: [BudgetLimit(*each) for each in self.limits.items()],
            lambda _burst: TIMEOUTS,
            is_ending=lambda _cluster: self.is_ending,
        )
        self.service = BurstService(self.context)

    def provider(self) -> BurstProvider:
        """Return a service's provider, whose calls are counted."""
        return MeteredProvider(self.cloud, self.meter, self)

    @property
    def user_ledger(self) -> BurstLedger:
        """The ledger as users have it: what becomes of services does not touch it."""
        return BurstLedger(self.database, "user", self.clock)

    async def request(self, *nodes: int, seconds: float = 30.0, **given: Any) -> str:
        """Submit burstable jobs of so many nodes, and ask for a burst as it is planned."""
        for number in nodes:
            self.lead.submit(number, seconds)
        waiting = tuple(
            BurstableJob(
                job,
                "alice",
                RequestedResources(one.nodes, 1, 1, 0, exclusive=True),
                wish=True,
                limit=60.0,
                fits_here=False,
            )
            for job, one in self.lead.jobs.items()
            if one.queue == "default"
        )
        asked = BurstPlanRequest(
            "mc",
            self.now,
            waiting,
            (SLOT,),
            (OFFER._replace(fee=self.fee),),
            BurstSelection(),
            DURATIONS,
            **given,
        )
        [planned] = plan(asked).bursts
        origins = {job: JobOrigin("alice", "default") for job in planned.jobs}
        identity = LeadIdentity("mc", self.lead.instance, "physics/mc")
        return await request(self.user_ledger, identity, planned, "memory-1", origins)

    async def tick(self) -> None:
        """Let some time pass, and the service work; one that is killed is followed by another."""
        try:
            await self.service.tick()
        except Killed:
            self.now += 20.0  # the lease of the one that was killed
            self.begin()
        except DatabaseAway:
            pass
        else:
            if all(each.next_try <= self.now for each in await self.bursts()):
                self.ticks.append(self.now)
        self.now += TICK
        self.lead.pass_time(self.now)

    async def run(self, *, until: str = "deleted", most: int = 200) -> BurstRecord:
        """Go on until the newest burst is in a state."""
        for _ in range(most):
            await self.tick()
            found = await self.bursts()
            if found and found[-1].state == until:
                return found[-1]
        raise AssertionError(f"{found[-1].state} after {most} ticks: {await self.lines(found[-1].id)}")

    async def bursts(self) -> list[BurstRecord]:
        async with self.database.read() as connection:
            return await bursts.of_cluster(connection, "mc")

    async def jobs(self, burst: str) -> list[AssignedJob]:
        async with self.database.read() as connection:
            return await jobs.of_burst(connection, burst)

    async def spent(self, scope: str = "all") -> int:
        async with self.database.read() as connection:
            return await reservations.spent(connection, scope)

    async def lines(self, burst: str) -> list[str]:
        async with self.database.read() as connection:
            return [entry.text for entry in await journal.of_burst(connection, burst)]

    async def check(self) -> None:
        """Nothing leaked, nothing was doubled, each job has run once, and the money is right."""
        assert self.cloud.there() == []
        made = Counter(each.burst for each in self.cloud._made if each.key.kind == NODES)
        assert all(count == 1 for count in made.values()), made
        assert self.lead.lost == []
        assert [one.runs for one in self.lead.jobs.values()] == [1] * len(self.lead.jobs)
        assert not self.lead.started["burst-0"]
        await check_money(self)


@contextlib.asynccontextmanager
async def opened(kill: tuple[str, int] | None = None) -> AsyncIterator[World]:
    """Give a world with a ledger in memory."""
    async with opened_as(World, kill) as world:
        yield world


@contextlib.asynccontextmanager
async def opened_as(kind: type[W], kill: tuple[str, int] | None = None) -> AsyncIterator[W]:
    """Give a world of a kind, with a ledger in memory."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        file = Path(folder) / "burst.db"
        file.write_bytes(ready_file.content(SCHEMA))
        database = await open_database(f"sqlite:///{file}", SCHEMA)
        try:
            yield kind(database, meter=Meter(kill))
        finally:
            await database.close()


def lived(scenario: Callable[[World], Coroutine[Any, Any, Any]]) -> Any:
    """Run a scenario in a world of its own."""

    async def work() -> Any:
        async with opened() as world:
            return await scenario(world)

    return asyncio.run(work())


async def ended(world: World, *, most: int = 200) -> tuple[str, str]:
    """Let the newest burst end; return its outcome and the reason, once nothing is left of it."""
    found = await world.run(most=most)
    assert world.cloud.there() == []
    assert found.outcome is not None
    return str(found.outcome), found.reason
