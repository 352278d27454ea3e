"""The loop of a service, in this process, with a provider and leads that are given; its source has nobody."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from burst.advance.context import AdvanceContext
from burst.cli.workplace import USUAL
from burst.clusters.connections import LeadConnections
from burst.clusters.records import ClusterPolicy
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.loop import BurstLoop
from burst.planner import BurstPlanner
from burst.settings import file
from burst.workplace import Workplace
from minicluster.database import migrate, open_database

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from burst.clusters.records import BurstingCluster
    from burst.leads.lead import BurstLead
    from burst.lifecycle.states import Timeouts
    from burst.providers.provider import BurstProvider
    from minicluster.database import Database


class NoClusters:
    """See `ClusterSource`."""

    location = "nowhere"
    key = ""

    def clusters(self) -> list[BurstingCluster]:
        return []

    def withdraw(self, open_clusters: Any) -> None:
        """Nobody is exposed."""

    def publish(self, bursts: Any) -> None:
        """Nobody sees them."""


@dataclass(frozen=True)
class LoopingService:
    """A service that loops, and the ledger as other processes have it."""

    database: Database
    other: BurstLedger
    loop: BurstLoop


@contextlib.asynccontextmanager
async def looping(
    url: str,
    provider: BurstProvider,
    lead: Callable[[str], BurstLead],
    timeouts: Timeouts,
) -> AsyncIterator[LoopingService]:
    """Give one; in the end it has ended."""
    await migrate(url, SCHEMA)
    own, database = await open_database(url, SCHEMA), await open_database(url, SCHEMA)
    ledger = BurstLedger(own, "service", time.time)
    providers, connections, over = {provider.name: provider}, LeadConnections(), asyncio.Event()
    context = AdvanceContext(ledger, "here", providers, lead, timeouts=lambda _burst: timeouts)
    planner = BurstPlanner(ledger, providers, connections, lambda *_: ClusterPolicy())
    settings = file.parse(USUAL, source="the usual settings")
    loop = BurstLoop(
        Workplace(NoClusters(), ledger, "here", settings, providers, connections, planner, context)
    )
    running = asyncio.create_task(loop.run(over))
    try:
        yield LoopingService(database, BurstLedger(database, "another process", time.time), loop)
    finally:
        over.set()
        await running
        await database.close()
        await own.close()
