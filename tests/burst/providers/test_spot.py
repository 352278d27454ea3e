"""A spot machine stays one from the price table by the plan and the ledger to the provider."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from burst.advance.context import wanted_of
from burst.asked import JobOrigin, LeadIdentity
from burst.asked import request as ask
from burst.cli import rows
from burst.ledger import bursts, journal
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.planning.plan import plan
from burst.providers import cloud_machines
from minicluster.database import open_database
from tests.burst.planning.plan_requests import NOW, job, request
from tests.burst.providers.eks_world import EksWorld
from tests.burst.providers.test_cloud_machines import machine
from tests.database import ready_file

if TYPE_CHECKING:
    from pathlib import Path

    from burst.ledger.journal import JournalEntry
    from burst.lifecycle.records import BurstRecord
    from burst.planning.records import PlannedBurst


def planned() -> PlannedBurst:
    """Return the burst of a plan for which one machine is offered twice."""
    offers = cloud_machines.offers("eks", [machine(machine="c7i.2xlarge", cores=8, spotPrice="0.18")])
    [found] = plan(request(job(7, nodes=2), offers=offers)).bursts
    return found


async def _asked(url: str) -> tuple[BurstRecord, list[JournalEntry]]:
    database = await open_database(url, SCHEMA)
    try:
        ledger = BurstLedger(database, "test", lambda: NOW)
        identity = LeadIdentity("mc", "1.0", "physics/mc", "mc")
        id_ = await ask(ledger, identity, planned(), "eks-1", {7: JobOrigin("alice", "default")})
        burst = await ledger.read(lambda connection: bursts.by_id(connection, id_))
        return burst, list(await ledger.read(lambda connection: journal.of_burst(connection, id_)))
    finally:
        await database.close()


def test_the_cheaper_offer_of_a_machine_is_planned() -> None:
    found = planned()
    assert (found.machine, found.spot, found.price) == ("c7i.2xlarge", True, 180_000)


def test_the_ledger_keeps_it_and_the_provider_makes_it(tmp_path: Path) -> None:
    file = tmp_path / "burst.db"
    file.write_bytes(ready_file.content(SCHEMA))
    burst, [line] = asyncio.run(_asked(f"sqlite:///{file}"))
    assert line.text == "requested: 2 nodes of c7i.2xlarge (spot) at eks"
    world = EksWorld()
    wanted = wanted_of(burst, "here")
    world.provider.create(world.provider.resources(wanted)[0], "token", wanted)
    assert {each.is_spot for each in world.cloud.there()} == {True}
    assert world.cloud.groups[0].detail["capacityType"] == "SPOT"


def test_people_read_that_it_is_one() -> None:
    row = {"machine": "c7i.2xlarge", "spot": True, "ready": 1.0, "until": 2.0, "jobs": [7]}
    [shown] = rows.shown_bursts({"bursts": [row]})
    assert shown["machine"] == "c7i.2xlarge (spot)"
    assert rows.shown_bursts({"bursts": [{**row, "spot": False}]})[0]["machine"] == "c7i.2xlarge"
