"""What anybody may ask of the service: a burst as it was planned, and the end of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from burst.errors import BurstUnknown
from burst.ledger import bursts, jobs
from burst.lifecycle.records import AssignedJob, BurstRecord
from burst.lifecycle.states import OPEN
from burst.planning.plan import scopes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.ledger.ledger import BurstLedger
    from burst.planning.records import PlannedBurst


class JobOrigin(NamedTuple):
    """Whose a job is, and in which queue it waits."""

    user: str
    queue: str


class LeadIdentity(NamedTuple):
    """A MiniCluster, and its instance now."""

    cluster: str
    """Its uid."""
    instance: str
    """The id of the instance."""
    title: str = ""
    """NAMESPACE/NAME of the MiniCluster."""
    name: str = ""
    """By which people know it."""


async def request(
    ledger: BurstLedger,
    lead: LeadIdentity,
    planned: PlannedBurst,
    location: str,
    origins: Mapping[int, JobOrigin],
) -> str:
    """Ask for a burst as it was planned; return its id. The service reserves it, or refuses it."""
    now = ledger.now()
    amounts = dict.fromkeys(sorted(scopes(lead.cluster, planned.provider, lead.title)), planned.worst)
    amounts |= {f"user:{user}": portion for user, portion in planned.portions.items()}
    burst = BurstRecord(
        id=ledger.new_id(),
        cluster=lead.cluster,
        cluster_name=lead.name,
        slot=planned.slot,
        provider=planned.provider,
        location=location,
        machine=planned.machine,
        nodes=planned.nodes,
        created=now,
        until=now + planned.until,
        spot=planned.spot,
        price=planned.price,
        fee=planned.fee,
        instance=lead.instance,
        state_since=now,
        amounts=amounts,
        isolated=planned.isolated,
    )
    assigned = [AssignedJob(burst.id, job, *origins[job]) for job in planned.jobs]

    async def work(connection: AsyncConnection) -> None:
        await bursts.add(connection, burst)
        await jobs.add(connection, assigned)
        apart = ", as an instance of their own" if planned.isolated else ""
        machine = f"{planned.machine} (spot)" if planned.spot else planned.machine
        text = f"requested: {planned.nodes} nodes of {machine} at {planned.provider}{apart}"
        await ledger.line(connection, burst.id, text)

    await ledger.request(work)
    return burst.id


async def stop(ledger: BurstLedger, burst: str, why: str = "somebody asked to stop it") -> None:
    """Ask for the end of a burst: its jobs may end, those that wait are moved back. Raises BurstUnknown."""

    async def work(connection: AsyncConnection) -> None:
        found = await bursts.by_id(connection, burst)
        if found.state not in OPEN:
            raise BurstUnknown(f"burst {found.label} is deleted already")
        await bursts.change(connection, burst, stopping=True)
        await ledger.line(connection, burst, why)

    await ledger.request(work)
