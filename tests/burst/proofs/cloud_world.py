"""A rehearsed cloud, a rehearsed instance and a ledger with one clock; services may be killed at any call."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_config.formats.jobspec import RequestedResources
from burst.advance.context import AdvanceContext
from burst.asked import JobOrigin, LeadIdentity, request
from burst.errors import LeadAway
from burst.ledger import bursts, journal, reservations
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.planning.plan import plan
from burst.planning.records import BurstPlanRequest, BurstSelection, BurstSlot, NodeShape
from burst.rehearsal.instance import OwnNodes, RehearsedInstance
from burst.rehearsal.jobs import JobPhase, RehearsedJob
from burst.rehearsal.lead import RehearsedLead
from burst.service import BurstService
from minicluster.database import DatabaseAway, open_database
from queue_policies.easy import Easy
from tests.burst.life.meter import Killed, Meter
from tests.burst.life.world import DURATIONS, MEMORY, TICK, TIMEOUTS, MeteredDatabase
from tests.burst.proofs.cloud_bill import CloudBill
from tests.burst.proofs.cloud_rigs import CORES
from tests.database import ready_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from burst.lifecycle.records import BurstRecord
    from burst.lifecycle.states import Timeouts
    from minicluster.database import Database
    from tests.burst.proofs.cloud_rigs import CloudRig

SHAPE = NodeShape(CORES)
SLOT = BurstSlot("burst-0", 4, SHAPE)
OWN = OwnNodes(2, SHAPE)
LONG_TICK = 120.0
"""Seconds that pass at once where a deletion takes an hour."""


class MeteredProvider:
    """A provider each of whose calls is counted, and those that were not answered, once more."""

    def __init__(self, provider: Any, meter: Meter) -> None:
        self._provider = provider
        self.unanswered = 0
        for name in ("create", "get", "delete"):
            setattr(self, name, self._noted(meter.call(f"provider {name}", getattr(provider, name))))
        self.owned = self._noted(
            meter.call("provider owned", lambda installation: [*provider.owned(installation)])
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    def _noted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except Exception:
                self.unanswered += 1
                raise

        return noted


class MeteredLead:
    """A lead each of whose calls is counted; it may not answer."""

    def __init__(self, world: CloudWorld) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        async def metered(*arguments: Any) -> Any:
            meter = self._world.meter
            if self._world.is_lead_away:
                raise LeadAway("the lead does not answer")
            meter.before(f"lead {name}")
            number = len(meter.names)
            found = await getattr(self._world.lead, name)(*arguments)
            try:
                meter.after(number, ConnectionResetError("the answer was lost"))
            except ConnectionResetError as error:
                raise LeadAway(str(error)) from None
            return found

        return metered


@dataclass
class CloudWorld:
    """All that outlives a service, for one burst."""

    database: Database
    rig: CloudRig
    meter: Meter = field(default_factory=Meter)
    is_lead_away: bool = False
    services: int = 0
    ticks: list[float] = field(default_factory=list)
    """When services have done all that there was to do: every call was answered."""
    asked: list[float] = field(default_factory=list)
    """Those of them in which the cloud was asked: nobody asks about brokers that answer (decision 0069)."""
    label: str = ""
    nodes: int = 0

    def __post_init__(self) -> None:
        self.instance = RehearsedInstance(OWN, [SLOT], Easy(), lambda _slot: self.brokers())
        self.lead = RehearsedLead(self.instance)
        self.begin()

    def brokers(self) -> int:
        """Return how many brokers of the burst are up."""
        return self.rig.found.brokers(self.label) if self.label else 0

    def begin(self) -> None:
        """Start a service, as after the end of another one."""
        self.services += 1
        metered: Any = MeteredDatabase(self.database, self.meter)
        self.ledger = BurstLedger(metered, f"service-{self.services}", self.rig.clock)
        lead: Any = MeteredLead(self)
        self.provider = MeteredProvider(self.rig.found.provider, self.meter)
        provider: Any = self.provider
        self.context = AdvanceContext(
            self.ledger,
            "here",
            {self.rig.name: provider},
            lambda _cluster: lead,
            timeouts=lambda _burst: self.timeouts,
        )
        self.service = BurstService(self.context)

    @property
    def timeouts(self) -> Timeouts:
        """Those of the burst: as an administrator has them where listings lag."""
        lag = self.rig.found.cloud.lag
        return replace(TIMEOUTS, provisioning=TIMEOUTS.provisioning + lag, verified=TIMEOUTS.verified + lag)

    @property
    def user_ledger(self) -> BurstLedger:
        """The ledger as users have it: what becomes of services does not touch it."""
        return BurstLedger(self.database, "user", self.rig.clock)

    async def request(self, *nodes: int, seconds: float = 30.0, spot: bool = False) -> str:
        """Submit burstable jobs of so many nodes, and ask for a burst as it is planned; return its id."""
        now = self.rig.clock.now
        self.instance.pass_time(now)
        for number, each in enumerate(nodes, 1):
            wanted = RequestedResources(each, 1, 1, 0, exclusive=True)
            self.instance.submit(RehearsedJob(number, wanted, seconds, 60.0, wish=True, submitted=now))
        waiting = tuple(each.job for each in self.lead.read())
        offers = tuple(each for each in self.rig.offers if each.spot == spot) or tuple(self.rig.offers)
        asked = BurstPlanRequest("mc", now, waiting, (SLOT,), offers, BurstSelection(), DURATIONS)
        [planned] = plan(asked).bursts
        origins = {job: JobOrigin("alice", self.instance.jobs[job].queue) for job in planned.jobs}
        identity = LeadIdentity("mc", self.lead.identity, "physics/mc")
        location = self.rig.found.provider.location
        burst = await request(self.user_ledger, identity, planned, location, origins)
        self.label, self.nodes = burst[-10:], planned.nodes
        return burst

    async def tick(self) -> BurstRecord:
        """Have the service work, and let some time pass; one that is killed is followed by another."""
        clock, calls = self.rig.clock, self.rig.found.cloud.calls
        before, unanswered = len(calls), self.provider.unanswered
        try:
            await self.service.tick()
        except Killed:
            clock.now += 20.0  # the lease of the one that was killed
            self.begin()
        except DatabaseAway:
            pass
        else:
            # Where a burst drains, what is not answered is not tried again later: it only costs.
            is_answered = self.provider.unanswered == unanswered
            if is_answered and (await self.burst()).next_try <= clock.now:
                self.ticks.append(clock.now)
                is_swept = self.service.report is None or not self.service.report.unswept
                self.asked += [clock.now] if len(calls) > before and is_swept else []
        found = await self.burst()
        # A lead that is away at such a tick would be so for longer than it is waited for.
        is_long = clock.now - found.state_since > 30 * TICK and not self.is_lead_away
        clock.now += LONG_TICK if is_long and found.state == "deleting" else TICK
        self.instance.pass_time(clock.now)
        return found

    async def run(self, *, until: str = "deleted", most: int = 300) -> BurstRecord:
        """Go on until the burst is in a state."""
        for _ in range(most):
            found = await self.tick()
            if found.state == until:
                return found
        raise AssertionError(f"{found.state} after {most} ticks\n{await self.lines()}")

    async def burst(self) -> BurstRecord:
        async with self.database.read() as connection:
            [found] = await bursts.of_cluster(connection, "mc")
            return found

    async def lines(self) -> str:
        found = await self.burst()
        async with self.database.read() as connection:
            return "\n".join(
                f"{entry.at - found.created:g} {entry.text}"
                for entry in await journal.of_burst(connection, found.id)
            )

    async def spent(self) -> int:
        async with self.database.read() as connection:
            return await reservations.spent(connection, "all")

    # -- what has to hold --------------------------------------------------------------------------------

    def check_now(self) -> None:
        """Nothing is doubled: neither machines nor jobs."""
        machines = self.rig.found.machines(self.label)
        assert len(machines) <= self.nodes, f"doubled: {machines}"
        assert all(job.runs <= 1 for job in self.instance.jobs.values()), "a job has run twice"

    async def check_end(self) -> None:
        """Nothing is left, the cloud's bill is what was charged, and every job has run or waits."""
        found = await self.burst()
        assert found.state == "deleted", found.state
        cloud = self.rig.found.cloud
        assert cloud.there() == [], f"left: {cloud.there()}"
        left = [each.name for each in cloud.groups if each.is_there(self.rig.clock.now)]
        assert left == [], f"left: {left}"
        self.rig.clock.now += cloud.lag
        cloud.faults.clear()
        assert [*self.rig.found.provider.owned("here")] == [], "listed"
        for job in self.instance.jobs.values():
            assert job.phase in {JobPhase.DONE, JobPhase.PENDING}, job
            assert job.runs == (job.phase is JobPhase.DONE), job
            assert not (job.is_pending and job.queue == SLOT.name), f"stranded: {job}"
        CloudBill(self.rig, self.ticks, self.asked).check(await self.spent())


@contextlib.asynccontextmanager
async def opened(rig: CloudRig) -> AsyncIterator[CloudWorld]:
    """Give a world with a ledger in memory."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        file = Path(folder) / "burst.db"
        file.write_bytes(ready_file.content(SCHEMA))
        database = await open_database(f"sqlite:///{file}", SCHEMA)
        try:
            yield CloudWorld(database, rig)
        finally:
            await database.close()
