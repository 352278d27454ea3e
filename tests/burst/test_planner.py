"""Plans for a MiniCluster: what waits there, what the ledger has, and what is set for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from broker_config.formats.jobspec import RequestedResources
from burst.automatic import plan_all
from burst.clusters.records import BurstingCluster, ClusterPolicy
from burst.errors import LeadAway
from burst.leads.slot_ranks import SlotRanks
from burst.leads.waiting_jobs import WaitingJob
from burst.ledger import bursts
from burst.lifecycle.states import BurstOutcome, BurstState
from burst.planner import BurstPlanner, ClusterPlan
from burst.planning.plan import NO_SLOT
from burst.planning.records import EACH_USER, BudgetLimit, BurstableJob, BurstSelection, NodeShape, Offer
from burst.providers.memory import MemoryCloud, MemoryProvider
from tests.burst.life.world import lived

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from burst.ledger.ledger import BurstLedger
    from tests.burst.life.world import World

NOW = 1_000_000.0
POLICY = ClusterPolicy(("memory",), BurstSelection(after=0.0), is_dry=False)


@dataclass
class Lead:
    """A lead with jobs and one slot, as connections give it."""

    jobs: list[WaitingJob]
    identity: str = "instance-1"
    slots: Mapping[str, SlotRanks] = field(default_factory=lambda: {"burst-0": SlotRanks(2, 4, 8)})

    @property
    def layout(self) -> Lead:
        return self

    @property
    def waiting(self) -> Lead:
        return self

    def read(self) -> list[WaitingJob]:
        return self.jobs


@dataclass
class Connections:
    """Leads by uid; one that is missing does not answer."""

    leads: dict[str, Lead]

    def ask(self, uid: str, work: Callable[[Any], Any]) -> Any:
        if uid not in self.leads:
            raise LeadAway("it does not answer")
        return work(self.leads[uid])


def job(number: int, nodes: int = 1, user: str = "alice") -> WaitingJob:
    request = RequestedResources(nodes, 1, 1, 0, exclusive=True)
    return WaitingJob(BurstableJob(number, user, request, wish=True, limit=60.0, submitted=NOW), "default")


def cluster(uid: str = "u1") -> BurstingCluster:
    document: Any = None
    return BurstingCluster(uid, uid, f"default/{uid}", document, lambda: document, lambda _slot: document)


def planner(world: World, lead: Lead, policy: ClusterPolicy = POLICY) -> BurstPlanner:
    offers = [Offer("memory", "c8", NodeShape(8), price=3_600_000)]
    connections: Any = Connections({"u1": lead})
    provider = MemoryProvider(MemoryCloud(world.clock), offers)
    return BurstPlanner(world.user_ledger, {"memory": provider}, connections, lambda _cluster, _now: policy)


def test_a_plan_has_what_waits_and_is_asked_for_as_it_is() -> None:
    async def scenario(world: World) -> None:
        lead = Lead([job(1), job(2)])
        made = planner(world, lead)
        found = await made.planned(cluster())
        [burst] = found.plan.bursts
        assert (burst.jobs, burst.slot) == ((1, 2), "burst-0")
        assert await ledger_has(world) == []
        [asked] = await made.apply(found)
        [record] = await ledger_has(world)
        assert (record.id, record.cluster, record.instance) == (asked, "u1", "instance-1")
        assert (record.location, record.amounts["user:alice"]) == ("memory-1", burst.worst)

    lived(scenario)


def test_what_a_burst_has_is_not_planned_again() -> None:
    """Neither its slot nor its jobs, from the moment it is asked for."""

    async def scenario(world: World) -> None:
        lead = Lead([job(1)])
        made = planner(world, lead)
        await made.apply(await made.planned(cluster()))
        lead.jobs.append(job(2))
        found = await made.planned(cluster())
        assert found.plan.bursts == ()
        assert found.plan.left_out == ((2, NO_SLOT),)

    lived(scenario)


def test_a_provider_rests_after_bursts_that_failed() -> None:
    async def scenario(world: World) -> None:
        made = planner(world, Lead([job(1)]))
        [asked] = await made.apply(await made.planned(cluster()))
        failed = {"state": BurstState.DELETED, "outcome": BurstOutcome.FAILED, "state_since": world.now}
        await change(world, asked, **failed)
        words = "memory: bursts failed there once; it is tried again in 1m"
        assert (await made.planned(cluster())).plan.left_out == ((1, words),)
        world.now += 60.0
        assert len((await made.planned(cluster())).plan.bursts) == 1

    lived(scenario)


def test_a_burst_that_cannot_be_deleted_keeps_its_provider_from_more() -> None:
    async def scenario(world: World) -> None:
        lead = Lead([job(1)], slots={name: SlotRanks(2, 4, 8) for name in ("burst-0", "burst-1")})
        made = planner(world, lead)
        [asked] = await made.apply(await made.planned(cluster()))
        await change(world, asked, state=BurstState.DELETING, state_since=world.now)
        world.now += 7200.0
        lead.jobs.append(job(2))
        words = "memory: a burst there could not be deleted for 2h"
        assert (await made.planned(cluster())).plan.left_out == ((2, words),)

    lived(scenario)


def test_what_is_wrong_with_a_document_is_what_its_users_read() -> None:
    async def scenario(world: World) -> None:
        wrong = replace(POLICY, problem="bursting.providers: there is no provider far")
        found = await planner(world, Lead([job(1)]), wrong).planned(cluster())
        assert found.plan.left_out == ((1, wrong.problem),)

    lived(scenario)


def test_budgets_and_caps_of_the_policy_hold() -> None:
    async def scenario(world: World) -> None:
        poor = replace(POLICY, limits=(BudgetLimit("cluster:default/u1", 1),))
        [left] = (await planner(world, Lead([job(1)]), poor).planned(cluster())).plan.left_out
        assert left.reason.startswith("budget cluster:default/u1: its burst may cost")
        stingy = replace(POLICY, limits=(BudgetLimit(EACH_USER, 1),))
        [left] = (await planner(world, Lead([job(1)]), stingy).planned(cluster())).plan.left_out
        assert left.reason.startswith("budget user:alice: its burst may cost")
        few = replace(POLICY, most_nodes=1, most_bursts=1)
        found = await planner(world, Lead([job(1, 2)]), few).planned(cluster())
        assert found.plan.left_out[0].reason.startswith("it needs 2 nodes, and the MiniCluster may have 1")

    lived(scenario)


def test_the_service_asks_for_what_it_plans_unless_it_is_to_show_plans_only() -> None:
    async def scenario(world: World) -> None:
        lead = Lead([job(1)])
        dry: list[ClusterPlan] = await plan_all(
            planner(world, lead, replace(POLICY, is_dry=True)), [cluster("away"), cluster()]
        )
        assert (len(dry), len(dry[0].plan.bursts), await ledger_has(world)) == (1, 1, [])
        await plan_all(planner(world, lead), [cluster()])
        assert len(await ledger_has(world)) == 1

    lived(scenario)


def test_two_who_plan_at_once_get_one_burst_in_the_slot() -> None:
    """A request reserves nothing: of two in one slot the service refuses the later."""

    async def scenario(world: World) -> None:
        lead = Lead([job(1), job(2)])
        both = planner(world, lead), planner(world, lead)
        plans = await asyncio.gather(*(each.planned(cluster()) for each in both))
        for each, found in zip(both, plans, strict=True):
            await each.apply(found)
        assert len(await ledger_has(world)) == 2
        await world.tick()
        states = [each.state for each in await ledger_has(world)]
        assert sorted(each is BurstState.DELETED for each in states) == [False, True]

    lived(scenario)


async def ledger_has(world: World) -> list[Any]:
    ledger: BurstLedger = world.user_ledger
    return list(await ledger.read(bursts.all_of_them))


async def change(world: World, burst: str, **values: Any) -> None:
    await world.user_ledger.request(lambda connection: bursts.change(connection, burst, **values))
