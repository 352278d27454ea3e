"""A rehearsal: planner, service and ledger as they are; lead and clouds in memory, with a clock of their own.

The same scenario has the same bursts each time: nothing in it depends on how fast it is run.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from burst import plan_hooks
from burst.advance.context import AdvanceContext
from burst.automatic import plan_all
from burst.clusters import policy
from burst.clusters.records import BurstingCluster
from burst.errors import LeadAway
from burst.ledger import bursts, reservations
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.lifecycle.states import BurstState
from burst.loop import PLAN_INTERVAL
from burst.planner import BurstPlanner
from burst.planning.records import EACH_USER, BurstSlot, NodeShape
from burst.providers.plugins import ProviderContext
from burst.rehearsal import clouds
from burst.rehearsal.instance import OwnNodes, RehearsedInstance
from burst.rehearsal.jobs import RehearsedJob
from burst.rehearsal.lead import RehearsedLead
from burst.service import BurstService
from minicluster.database import migrate, open_database
from minicluster.database.ids import UlidFactory
from minicluster.document import bursted_clusters, max_size

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.clusters.records import ClusterPolicy
    from burst.joining.records import JoinSettings
    from burst.lifecycle.records import BurstRecord
    from burst.planner import PlannedLead
    from burst.planning.records import BudgetLimit
    from burst.providers.provider import WantedBurst
    from burst.rehearsal.clouds import RehearsedProvider
    from burst.rehearsal.drawn_jobs import JobSubmission
    from burst.rehearsal.scenario import ScenarioFault
    from burst.rehearsal.scenario_file import ScenarioFile
    from minicluster.instance.port import Instance

T = TypeVar("T")
UNCHANGED_INTERVAL = 3 * PLAN_INTERVAL
"""Seconds between two plans where nothing has happened since."""
MAX_IDLE_STEP = 600.0
"""Seconds between two plans, at most, where nothing happens."""
MEMORY = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
"""Where a file is in memory: thousands of commits wait for the disk elsewhere."""
IDLE_END = 86_400.0
"""After so many seconds in which nothing happens it is over: what waits then waits for ever."""
NOTE_INTERVAL = 60.0
"""Seconds between two looks at what is used of budgets."""
TEARDOWN = 7 * 86_400.0
"""Seconds after the end of a scenario after which bursts that are still there are reported as left."""


class PeakUse(NamedTuple):
    """What was used of a budget, at most, in one of its periods."""

    limit: BudgetLimit
    scope: str
    most: int


@dataclass
class VirtualClock:
    """Seconds since 1970, as the rehearsal has them."""

    now: float

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@dataclass
class BurstHistory:
    """What has become of bursts so far."""

    in_slot: dict[str, BurstRecord] = field(default_factory=dict)
    """By slot: the burst that has got it last."""
    changes: int = 0
    """How often one has entered a state."""

    def left(self, burst: BurstRecord, _now: float) -> None:
        """Note a burst as it was in a state that it has left."""
        self.changes += 1
        if burst.state is BurstState.PLANNED:
            self.in_slot[burst.slot] = burst


@dataclass
class _Leads:
    """Connections to the one lead that there is."""

    lead: RehearsedLead

    def ask(self, uid: str, work: Callable[[PlannedLead], T]) -> T:  # noqa: ARG002 - there is one
        """Return what a function returns of it."""
        return work(self.lead)


@dataclass
class Rehearsal:
    """One run of a scenario."""

    file: ScenarioFile
    clock: VirtualClock
    ledger: BurstLedger
    installation: str
    cluster: BurstingCluster
    providers: dict[str, RehearsedProvider]
    instance: RehearsedInstance
    service: BurstService
    planner: BurstPlanner
    history: BurstHistory
    reasons: dict[int, str] = field(default_factory=dict)
    """By job: why it was left out last."""
    used: dict[tuple[str, str], PeakUse] = field(default_factory=dict)
    """By scope and amount."""
    _arrived: int = 0
    _planned: float = -math.inf
    _changes: int = -1
    _noted: float = -math.inf
    _idle_step: float = PLAN_INTERVAL
    _last_event: float = 0.0

    @property
    def end(self) -> float:
        """When no further burst is made."""
        return self.file.begin + self.file.scenario.end_seconds

    async def run(self) -> None:
        """Let everything happen. Raises DatabaseError and PolicyDefect."""
        faults = sorted((each for each in self.file.scenario.faults), key=lambda each: each.at_seconds)
        for each in [each for each in faults if each.number is not None]:
            self._order(each)
        waiting = [each for each in faults if each.number is None]
        self._last_event = self.clock.now
        while True:
            now = self.clock.now
            while waiting and self.file.begin + waiting[0].at_seconds <= now:
                self._order(waiting.pop(0))
            self._arrive(now)
            opened = await self._work(now)
            self.instance.pass_time(now)
            following = self._next(opened, waiting)
            if following == math.inf:
                return
            self.clock.now = following

    def _order(self, fault: ScenarioFault) -> None:
        cloud = self.providers[fault.provider].cloud
        if fault.number is None:
            cloud.order(fault.call, fault.meant, after=fault.retry_after_seconds)
        else:
            cloud.order_number(fault.call, fault.number, fault.meant, fault.retry_after_seconds)

    def _arrive(self, now: float) -> None:
        """Submit what is due, each at its time."""
        submissions = self.file.submissions
        while self._arrived < len(submissions):
            found = submissions[self._arrived]
            at = self.file.begin + found.at
            if at > min(now, self.end):
                break
            self._arrived += 1
            self.instance.pass_time(at)
            self.instance.submit(_job(self._arrived, found, at))
            self.instance.pass_time(at)
        self.instance.pass_time(now)

    async def _work(self, now: float) -> list[BurstRecord]:
        """Have the service do what it does at a time; return the open bursts."""
        await self.service.tick()
        if self._plan_due() <= now < self.end:
            self._planned, self._changes = now, self._all_changes()
            [planned] = await plan_all(self.planner, [self.cluster])
            self.reasons |= {each.job: each.reason for each in planned.plan.left_out}
            if planned.plan.bursts:
                await self.service.tick()  # what was asked for just now is made at once
                await self._note_budgets(now)
        opened = await self.ledger.read(bursts.opened)
        if opened and now - self._noted >= NOTE_INTERVAL:
            await self._note_budgets(now)
        return opened

    def _plan_due(self) -> float:
        """Return when to plan again: where nothing has changed, time alone may change a plan."""
        is_changed = self._changes != self._all_changes()
        return self._planned + (PLAN_INTERVAL if is_changed else UNCHANGED_INTERVAL)

    def _all_changes(self) -> int:
        return self.history.changes + self.instance.changes

    async def _note_budgets(self, now: float) -> None:
        """Note what is used of budgets: it grows where bursts are asked for, and where one is stuck."""
        self._noted = now
        for limit in _policy(self.file, self.cluster, now).limits:
            found = await self.ledger.read(partial(_used, limit=limit))
            for scope, amount in found.items():
                key = (scope, str(limit.amount))
                most = max(amount, self.used[key].most if key in self.used else 0)
                self.used[key] = PeakUse(limit, scope, most)

    def _next(self, opened: list[BurstRecord], faults: list[ScenarioFault]) -> float:
        """Return when to go on; infinite: it is over."""
        now = self.clock.now
        event = min([self.instance.next_end(), *self._arrivals(), *self._due(faults)], default=math.inf)
        waits = any(each.is_pending and each.wish is not None for each in self.instance.jobs.values())
        if opened:
            self._last_event, self._idle_step = now, PLAN_INTERVAL
            plan = self._plan_due() if waits and now < self.end else math.inf
            following = max(now + self.file.scenario.tick_seconds, min(self.service.quiet_until, plan, event))
            return following if now < self.end + TEARDOWN else math.inf
        if now >= self.end:
            return math.inf
        if not waits:
            self._last_event = min(event, self.end)
            return self._last_event if event < math.inf else math.inf
        if event == math.inf and now - self._last_event >= IDLE_END:
            return math.inf
        following = min(event, now + self._idle_step, self.end)
        if following == event:
            self._last_event, self._idle_step = event, PLAN_INTERVAL
        else:
            self._idle_step = min(2 * self._idle_step, MAX_IDLE_STEP)
        return following

    def _arrivals(self) -> Iterator[float]:
        if self._arrived < len(self.file.submissions):
            yield self.file.begin + self.file.submissions[self._arrived].at

    def _due(self, faults: list[ScenarioFault]) -> Iterator[float]:
        if self._arrived < len(self.file.submissions) and faults:
            yield self.file.begin + faults[0].at_seconds


@contextlib.asynccontextmanager
async def opened(file: ScenarioFile, ledger: Path | None = None) -> AsyncIterator[Rehearsal]:
    """Give a rehearsal that has not begun; its ledger is in a file, a temporary one by default.

    Raises SettingsInvalid and DatabaseError.
    """
    memory = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="minicluster-rehearsal-", dir=memory) as folder:
        url = f"sqlite:///{ledger or Path(folder) / 'burst.db'}"
        await migrate(url, SCHEMA)
        database = await open_database(url, SCHEMA)
        stack = contextlib.ExitStack()
        try:
            clock, random = VirtualClock(file.begin), Random(file.scenario.seed)  # noqa: S311 - ids, not keys
            make_id = UlidFactory(random.getrandbits).new
            opened_ledger = BurstLedger(database, "rehearsal", clock, make_id)
            yield await _composed(file, clock, opened_ledger, Path(folder), stack)
        finally:
            stack.close()
            await database.close()


async def _composed(
    file: ScenarioFile, clock: VirtualClock, ledger: BurstLedger, folder: Path, stack: contextlib.ExitStack
) -> Rehearsal:
    cluster = _cluster(file)
    context = ProviderContext(_no_join, folder)
    providers = clouds.opened(file.settings, context, clock, file.scenario.clouds, stack)
    history = BurstHistory()

    def joined(slot: str) -> int:
        burst = history.in_slot.get(slot)
        return providers[burst.provider].brokers(burst.label) if burst is not None else 0

    def policy_now(_burst: BurstRecord) -> ClusterPolicy:
        return _policy(file, cluster, clock.now)

    instance = _instance(file, joined)
    lead = RehearsedLead(instance)
    given = {name: each.provider for name, each in providers.items()}
    installation = await ledger.installation()
    advance = AdvanceContext(
        ledger,
        installation,
        given,
        lambda _cluster: lead,
        lambda burst: policy_now(burst).limits,
        lambda burst: policy_now(burst).timeouts,
        left=history.left,
    )
    hooks = plan_hooks.loaded(file.settings)
    planner = BurstPlanner(ledger, given, _Leads(lead), lambda _, now: _policy(file, cluster, now), hooks)
    service = BurstService(advance, in_turn=True)
    return Rehearsal(
        file, clock, ledger, installation, cluster, providers, instance, service, planner, history
    )


def alone(file: ScenarioFile) -> dict[int, RehearsedJob]:
    """Return the jobs of a scenario as they would have run without any burst."""
    instance = _instance(file, lambda _slot: 0)
    for number, each in enumerate(file.submissions, 1):
        at = file.begin + each.at
        instance.pass_time(at)
        instance.submit(_job(number, each, at))
        instance.pass_time(at)
    while (end := instance.next_end()) < math.inf:
        instance.pass_time(end)
    return instance.jobs


def _instance(file: ScenarioFile, joined: Callable[[str], int]) -> RehearsedInstance:
    wanted = file.scenario.cluster
    shape = NodeShape(wanted.cores, wanted.gpus)
    slots = [
        BurstSlot(
            each.name,
            each.size,
            NodeShape(each.cores or shape.cores, shape.gpus if each.gpus is None else each.gpus),
        )
        for each in bursted_clusters(file.cluster)
    ]
    count = max_size(file.cluster) if wanted.nodes is None else wanted.nodes
    return RehearsedInstance(OwnNodes(count, shape), slots, file.policy, joined)


def _job(number: int, submitted: JobSubmission, at: float) -> RehearsedJob:
    return RehearsedJob(
        number,
        submitted.request,
        submitted.seconds,
        submitted.limit,
        submitted.user,
        submitted.wish,
        submitted.urgency,
        at,
    )


def _cluster(file: ScenarioFile) -> BurstingCluster:
    name = file.cluster.metadata.name
    title = f"{file.scenario.cluster.namespace}/{name}"
    return BurstingCluster("rehearsed", name, title, file.cluster, _no_instance, _no_slot)


def _policy(file: ScenarioFile, cluster: BurstingCluster, now: float) -> ClusterPolicy:
    """Return what is set for the MiniCluster: nothing is for show only, as nothing is real."""
    return replace(policy.of_cluster(cluster, file.settings.settings, now), is_dry=False)


async def _used(connection: AsyncConnection, limit: BudgetLimit) -> dict[str, int]:
    """Return what is used of a limit now, by scope."""
    if limit.scope != EACH_USER:
        return {limit.scope: await reservations.spent(connection, limit.scope, limit.since)}
    by_user = await reservations.spent_by_user(connection, limit.since)
    return {f"user:{user}": amount for user, amount in by_user.items()}


def _no_instance() -> Instance:
    raise LeadAway("a rehearsal has no instance")


def _no_slot(_slot: str) -> JoinSettings:
    raise LeadAway("a rehearsal has no brokers")


def _no_join(_wanted: WantedBurst) -> JoinSettings:
    raise LeadAway("a rehearsal has no brokers")
