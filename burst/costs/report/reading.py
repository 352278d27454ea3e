"""What a report needs of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.costs.report.records import ReportedBurst
from burst.ledger import bursts, journal, node_counts, reservations, resources
from burst.planning.plan import ALL

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


async def read(connection: AsyncConnection, since: float) -> list[ReportedBurst]:
    """Return the bursts that were asked for since a time, the oldest first."""
    made = await resources.by_burst(connection)
    counts = await node_counts.by_burst(connection)
    states = await journal.states(connection)
    reserved = await reservations.of_all(connection, ALL)
    return [
        ReportedBurst(
            each,
            made.get(each.id, ()),
            counts.get(each.id, ()),
            states.get(each.id, ()),
            *reserved.get(each.id, (None, None)),
        )
        for each in await bursts.asked_since(connection, since)
    ]
