"""Users of one RESTful API, whose jobs run as one account, spend one budget, and each his own."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from burst.advance.context import AdvanceContext
from burst.advance.reserve import reserve
from burst.clusters.records import BurstingCluster, ClusterPolicy
from burst.leads.payer_keys import PayerKeys
from burst.leads.slot_ranks import SlotRanks
from burst.leads.waiting_jobs import WaitingJobs
from burst.ledger import bursts, reservations
from burst.ledger.ledger import BurstLedger
from burst.lifecycle.states import Timeouts
from burst.planner import BurstPlanner
from burst.planning.records import EACH_USER, BudgetLimit, BurstSelection, Durations, NodeShape, Offer
from burst.providers.memory import MemoryCloud, MemoryProvider
from minicluster.instance.records import BurstSummary
from restful.jobs.seal import Seal
from restful.jobs.views import jobid_of
from tests.burst.leads.test_waiting_jobs import layout
from tests.burst.life.world import opened as ledger_opened
from tests.restful.jobs.service import MASTER, USERS, opened, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from burst.ledger.ledger import BurstLedger as Ledger
    from minicluster.instance.port import Instance
    from tests.conformance.laboratory import Laboratory

DIRECTLY = pytest.mark.parametrize("laboratory", ["embedded", "flux"], indirect=True)
"""Over a lead's API a burst service reads jobs, and the RESTful API has a token of its own."""
WORST = 70_000
"""What a burst of one node costs at worst: its window and all around it, at 1,000 a second."""
LIMITS = (BudgetLimit("all", WORST * 7 // 2), BudgetLimit(EACH_USER, WORST * 5 // 2))
"""Three bursts in all, and two of each user."""
POLICY = ClusterPolicy(
    ("far",),
    BurstSelection(after=0.0),
    Durations(window=60.0, provisioning=4.0, joining=2.0, draining=2.0, deleting=2.0),
    limits=LIMITS,
    is_dry=False,
)


class Layout(NamedTuple):
    slots: Any


class Lead(NamedTuple):
    """As connections give it: eight slots of one node, and the jobs of an instance."""

    waiting: WaitingJobs
    identity: str = "instance-1"
    layout: Layout = Layout({f"burst-{slot}": SlotRanks(slot + 1, 1, 2) for slot in range(8)})


class Connections(NamedTuple):
    lead: Lead

    def ask(self, _uid: str, work: Callable[[Any], Any]) -> Any:
        return work(self.lead)


async def planned_until_nothing_is_left(ledger: Ledger, lead: Lead) -> dict[int, str]:
    """Plan, ask for it and reserve it, as a service does; return why jobs are left out at the end."""
    document: Any = None
    cluster = BurstingCluster("u1", "mc", "default/mc", document, lambda: document, lambda _slot: document)
    offer = Offer("far", "c2", NodeShape(2, 1), price=3_600_000, ready=1.0)
    providers = {"far": MemoryProvider(MemoryCloud(time.time), [offer])}
    connections: Any = Connections(lead)
    planner = BurstPlanner(ledger, providers, connections, lambda *_: POLICY)
    context = AdvanceContext(
        ledger, "i", providers, lambda _uid: document, lambda _burst: LIMITS, lambda _burst: Timeouts()
    )
    await ledger.acquire()
    while True:
        found = await planner.planned(cluster)
        if not found.plan.bursts:
            return {each.job: each.reason for each in found.plan.left_out}
        await planner.apply(found)
        for burst in await ledger.read(bursts.opened):
            if burst.state == "requested":
                await reserve(context, burst)


@DIRECTLY
def test_two_users_spend_one_budget(laboratory: Laboratory, instance: Instance, tmp_path: Path) -> None:
    """What a job of theirs states is all that tells them apart."""

    async def work() -> tuple[dict[str, int], int, set[str]]:
        async with opened(tmp_path, spec_of(laboratory)) as api, ledger_opened() as world:
            for user in ("alice", "bob"):
                for _ in range(4):
                    await api.submit(
                        user, nodes=1, exclusive=True, time_limit=60, burstable=True, queue="default"
                    )
            lead = Lead(
                WaitingJobs(instance, layout(instance), "default", PayerKeys([Seal(MASTER).payer_key]))
            )
            ledger = BurstLedger(world.database, "service", time.time)
            reasons = await planned_until_nothing_is_left(ledger, lead)
            by_user = await ledger.read(reservations.spent_by_user)
            total = await ledger.read(lambda connection: reservations.spent(connection, "all"))
            return by_user, total, set(reasons.values())

    by_user, total, limiting = asyncio.run(work())
    assert by_user == {"alice": 2 * WORST, "bob": WORST}
    assert total == 3 * WORST
    assert limiting == {"budget all: its burst may cost 0.07, and 0.035 is left"}


@DIRECTLY
def test_a_job_shows_the_burst_in_whose_queue_it_is(
    laboratory: Laboratory, instance: Instance, tmp_path: Path
) -> None:
    """And no client sees what the service has signed."""
    active = BurstSummary("01h0000001", "burst-0", "far", "joining", 2, "2026-03-12T15:09:26Z", "3.20 EUR")

    async def work() -> tuple[Any, ...]:
        async with opened(tmp_path, spec_of(laboratory, bursts=lambda: (active,))) as api:
            jobid = await api.submit("alice", burstable=True, queue="default")
            before = (await api.ask("alice", "GET", f"/jobs/{jobid}")).json()["burst"]
            await asyncio.to_thread(instance.queues.update, jobid_of(jobid), queue="burst-0")
            job = await api.until("alice", jobid, lambda found: found["queue"] == "burst-0")
            spec = (await api.ask("alice", "GET", f"/jobs/{jobid}/jobspec")).json()
            why = await api.services.jobs.why(USERS["alice"], "mc", jobid)
            return before, job["burst"], why, spec["attributes"]["user"]

    before, burst, why, user = asyncio.run(work())
    assert before is None
    assert burst == {"id": "01h0000001", "slot": "burst-0", "provider": "far", "state": "joining"}
    assert (why, user) == ("waits for burst 01h0000001 of far, which is joining", {})
