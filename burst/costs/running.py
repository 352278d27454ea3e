"""Bursts of which something may be left, with what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from burst.ledger import bursts, node_counts, resources
from burst.lifecycle import metering
from burst.planning.plan import ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.lifecycle.metering import NodeCount
    from burst.lifecycle.records import BurstRecord, ResourceRecord


class RunningBurst(NamedTuple):
    """An open burst, and what the ledger has of its nodes."""

    burst: BurstRecord
    resources: Sequence[ResourceRecord] = ()
    counts: Sequence[NodeCount] = ()

    def cost(self, now: float) -> int:
        """Return what it has cost until now."""
        return metering.cost(self.burst, self.resources, self.counts, now)

    def beyond(self, now: float) -> int:
        """Return what it has cost beyond what was reserved at worst."""
        return max(self.cost(now) - self.burst.amounts.get(ALL, 0), 0)

    @property
    def hourly(self) -> int:
        """What it costs an hour, as it is."""
        return metering.hourly(self.burst, self.counts)


async def read(connection: AsyncConnection) -> list[RunningBurst]:
    """Return all open bursts, the oldest first."""
    return [
        RunningBurst(
            each,
            await resources.of_burst(connection, each.id),
            await node_counts.of_burst(connection, each.id),
        )
        for each in await bursts.opened(connection)
    ]
