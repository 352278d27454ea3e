"""Plans bursts for a MiniCluster from what waits at its lead, and asks for them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from burst import asked
from burst.asked import JobOrigin, LeadIdentity
from burst.ledger import bursts, jobs, reservations
from burst.lifecycle.states import BurstOutcome, BurstState
from burst.planning.plan import USUAL, plan
from burst.planning.records import EACH_USER, BurstPlan, BurstPlanRequest, BurstSlot, NodeShape
from burst.planning.resting import PastBurst, resting
from burst.settings.policy import budgets, each_user

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.clusters.records import BurstingCluster, ClusterPolicy
    from burst.leads.layout import LeadLayout
    from burst.leads.waiting_jobs import WaitingJob
    from burst.ledger.ledger import BurstLedger
    from burst.lifecycle.records import BurstRecord
    from burst.planning.hooks import PlanHooks
    from burst.planning.records import Budget
    from burst.providers.provider import BurstProvider

T = TypeVar("T")
RECENT = 200
"""How many of the latest bursts decide which providers rest."""
STUCK_SECONDS = 3600.0
"""After so long in `deleting` a burst keeps its provider from further ones."""


class WaitingReader(Protocol):
    """Reads what waits at one lead."""

    def read(self) -> list[WaitingJob]:
        """Return the burstable jobs that wait. Blocks; raises InstanceError."""
        ...


class PlannedLead(Protocol):
    """What a plan needs of a lead."""

    @property
    def identity(self) -> str:
        """The id of its instance."""

    @property
    def layout(self) -> LeadLayout:
        """Who has which ranks."""

    @property
    def waiting(self) -> WaitingReader:
        """What reads the jobs that wait."""


class PlannedLeads(Protocol):
    """Connections to leads."""

    def ask(self, uid: str, work: Callable[[PlannedLead], T]) -> T:
        """Return what a function returns of a lead. Blocks; raises LeadAway."""
        ...


class LedgerView(NamedTuple):
    """What of the ledger a plan depends on, at one time."""

    open: Sequence[BurstRecord]
    """Those of the MiniCluster."""
    recent: Sequence[BurstRecord]
    assigned: frozenset[int]
    budgets: Sequence[Budget]
    per_user: int | None
    """What each user may cost; None: it is not limited."""
    spent_by_user: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """A plan for one MiniCluster, with what is needed to ask for it."""

    cluster: BurstingCluster
    policy: ClusterPolicy
    plan: BurstPlan
    origins: Mapping[int, JobOrigin]
    instance: str
    """The id of the instance whose jobs these are."""


class BurstPlanner:
    """Plans with a ledger, providers and connections to leads; it writes what `apply` asks for alone."""

    def __init__(
        self,
        ledger: BurstLedger,
        providers: Mapping[str, BurstProvider],
        connections: PlannedLeads,
        policy_of: Callable[[BurstingCluster, float], ClusterPolicy],
        hooks: PlanHooks = USUAL,
        isolating: AbstractSet[str] = frozenset(),
    ) -> None:
        """`isolating` are the names of providers that make instances for single jobs."""
        self._ledger = ledger
        self._providers = providers
        self._connections = connections
        self._policy_of = policy_of
        self._hooks = hooks
        self._isolating = isolating

    async def planned(self, cluster: BurstingCluster) -> ClusterPlan:
        """Return the plan for what waits now. Raises LeadAway and DatabaseError."""
        now = self._ledger.now()
        policy = self._policy_of(cluster, now)

        def work(lead: PlannedLead) -> tuple[PlannedLead, list[WaitingJob]]:
            return lead, lead.waiting.read()

        lead, waiting = await asyncio.to_thread(self._connections.ask, cluster.uid, work)
        view = await self._ledger.read(lambda connection: _view(connection, cluster, policy))
        free = [each for each in waiting if each.job.id not in view.assigned]
        request = self._request(cluster, policy, lead, free, view)
        origins = {each.job.id: JobOrigin(each.job.user, each.queue) for each in free}
        return ClusterPlan(cluster, policy, plan(request, self._hooks), origins, lead.identity)

    async def apply(self, planned: ClusterPlan) -> list[str]:
        """Ask for the bursts of a plan; return their ids. Raises DatabaseError."""
        cluster = planned.cluster
        identity = LeadIdentity(cluster.uid, planned.instance, cluster.title, cluster.name)
        made = []
        for each in planned.plan.bursts:
            location = self._providers[each.provider].location
            made.append(await asked.request(self._ledger, identity, each, location, planned.origins))
        return made

    def _request(
        self,
        cluster: BurstingCluster,
        policy: ClusterPolicy,
        lead: PlannedLead,
        waiting: Sequence[WaitingJob],
        view: LedgerView,
    ) -> BurstPlanRequest:
        now = self._ledger.now()
        allowed = [] if policy.problem else [name for name in policy.providers if name in self._providers]
        joining = [name for name in allowed if policy.is_isolated and name not in self._isolating]
        allowed = [name for name in allowed if name not in joining]
        past = [_past(each, now) for each in view.recent]
        reasons = {name: resting(name, past, now) for name in allowed}
        taken = {each.slot for each in view.open}
        return BurstPlanRequest(
            cluster=cluster.uid,
            now=now,
            jobs=tuple(each.job for each in waiting),
            slots=tuple(
                BurstSlot(name, ranks.size, NodeShape(ranks.cores, ranks.gpus))
                for name, ranks in lead.layout.slots.items()
                if name not in taken
            ),
            offers=tuple(
                offer for name in allowed if not reasons[name] for offer in self._providers[name].offers()
            ),
            selection=policy.selection,
            durations=policy.durations,
            budgets=tuple(view.budgets),
            per_user=view.per_user,
            spent=view.spent_by_user,
            title=cluster.title,
            nodes_left=_left(policy.most_nodes, sum(each.nodes for each in view.open)),
            bursts_left=_left(policy.most_bursts, len(view.open)),
            resting=tuple(filter(None, (policy.problem, *map(_joins_alone, joining), *reasons.values()))),
            isolated=policy.is_isolated,
        )


async def _view(connection: AsyncConnection, cluster: BurstingCluster, policy: ClusterPolicy) -> LedgerView:
    every = await bursts.of_cluster(connection, cluster.uid)
    spent, by_user = [], []
    for limit in policy.limits:
        if limit.scope == EACH_USER:
            by_user.append((limit, await reservations.spent_by_user(connection, limit.since)))
        else:
            spent.append((limit, await reservations.spent(connection, limit.scope, limit.since)))
    return LedgerView(
        [each for each in every if each.state is not BurstState.DELETED],
        await bursts.recent(connection, RECENT),
        frozenset(await jobs.assigned(connection, cluster.uid)),
        budgets(spent),
        *each_user(by_user),
    )


def _past(burst: BurstRecord, now: float) -> PastBurst:
    since = now - burst.state_since
    is_stuck = burst.state is BurstState.DELETING and since >= STUCK_SECONDS
    failed = burst.state_since if burst.outcome is BurstOutcome.FAILED else None
    return PastBurst(burst.provider, failed, since if is_stuck else 0.0)


def _joins_alone(provider: str) -> str:
    return f"{provider} makes no instances for single jobs (spec.bursting.join: false)"


def _left(most: int | None, taken: int) -> int | None:
    return None if most is None else max(most - taken, 0)
