"""Bursting, put together on this machine: ledger, settings, providers, and the user's MiniClusters."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from burst import reports
from burst.advance.context import AdvanceContext
from burst.cli.errors import ClusterUnknown
from burst.cli.source import SourceChoice
from burst.clusters import policy
from burst.clusters.connections import LeadConnections
from burst.clusters.records import ClusterPolicy
from burst.ledger import bursts
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.planner import BurstPlanner
from burst.providers import plugins
from burst.settings import file
from minicluster.database import migrate, open_database, state_directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from burst.clusters.records import BurstingCluster, ClusterSource
    from burst.joining.records import JoinSettings
    from burst.lifecycle.records import BurstRecord
    from burst.lifecycle.states import Timeouts
    from burst.planning.records import BudgetLimit
    from burst.providers.provider import BurstProvider, WantedBurst
    from burst.settings.file import SettingsFile

SETTINGS = "burst.yaml"
USUAL = "providers: [{name: local, kind: local}]"
"""The settings where there is no file: processes on this machine, which cost nothing."""


@dataclass(frozen=True, slots=True)
class PathChoice:
    """Where a user says things are; empty: where they are by default."""

    state: str = ""
    settings: str = ""
    source: SourceChoice = field(default_factory=SourceChoice)


@dataclass(frozen=True)
class Workplace:
    """All that commands and the service use."""

    source: ClusterSource
    ledger: BurstLedger
    installation: str
    settings: SettingsFile
    providers: Mapping[str, BurstProvider]
    connections: LeadConnections
    planner: BurstPlanner
    context: AdvanceContext

    async def clusters(self) -> list[BurstingCluster]:
        """Return the MiniClusters that there are now, by name."""
        found = await asyncio.to_thread(self.source.clusters)
        await asyncio.to_thread(self.connections.serve, found)
        return found

    async def chosen(self, name: str) -> list[BurstingCluster]:
        """Return the MiniCluster that is named; all of them if none is. Raises ClusterUnknown."""
        found = await self.clusters()
        chosen = [each for each in found if name in {"", each.name, each.name.rpartition("/")[2]}]
        if not chosen:
            names = ", ".join(each.name for each in found) or "none"
            needed = "with `spec.bursting` in its document"
            what = f"cluster {name}: is not up {needed}" if name else f"no cluster is up {needed}"
            raise ClusterUnknown(f"{what} (those that are: {names})" if name else what)
        return chosen

    async def withdraw(self) -> None:
        """Take back what is beside MiniClusters for bursts that are over. Raises BackendError."""
        open_bursts = await self.ledger.read(bursts.opened)
        await asyncio.to_thread(self.source.withdraw, {each.cluster for each in open_bursts})

    async def publish(self) -> None:
        """Show the open bursts where their MiniClusters are. Raises BackendError."""
        found = reports.statuses(await self.ledger.read(bursts.opened), self.settings.settings.currency)
        await asyncio.to_thread(self.source.publish, found)


@contextlib.asynccontextmanager
async def opened(choice: PathChoice) -> AsyncIterator[Workplace]:
    """Open everything. Raises StateDirectoryUnusable, DatabaseError, SettingsInvalid and BackendError."""
    source = await asyncio.to_thread(choice.source.open)
    directory = Path(choice.state) if choice.state else state_directory.default()
    state_directory.opened(directory, "what bursts cost")
    settings = _settings(choice, directory / SETTINGS)
    url = f"sqlite:///{directory / _database(source)}"
    await migrate(url, SCHEMA)
    database = await open_database(url, SCHEMA)
    connections = LeadConnections()
    try:
        ledger = BurstLedger(database, f"{socket.gethostname()}:{os.getpid()}", time.time)
        yield await _composed(source, ledger, settings, connections, directory)
    finally:
        await asyncio.to_thread(connections.close)
        await database.close()


def _database(source: ClusterSource) -> str:
    """Return the file of the ledger: MiniClusters that another source has are not gone."""
    return f"burst-{source.key}.db" if source.key else "burst.db"


def _settings(choice: PathChoice, usual: Path) -> SettingsFile:
    """Return the settings: those of the file that is named, else of the usual one, else USUAL."""
    if choice.settings:
        return file.load(Path(choice.settings))
    return file.load(usual) if usual.exists() else file.parse(USUAL, source="the usual settings")


async def _composed(
    source: ClusterSource,
    ledger: BurstLedger,
    settings: SettingsFile,
    connections: LeadConnections,
    directory: Path,
) -> Workplace:
    def join(wanted: WantedBurst) -> JoinSettings:
        return connections.cluster(wanted.cluster).join(wanted.slot)

    def policy_of(cluster: BurstingCluster, now: float) -> ClusterPolicy:
        return policy.of_cluster(cluster, settings.settings, now)

    def policy_for(burst: BurstRecord) -> ClusterPolicy:
        cluster = connections.find(burst.cluster)
        return policy_of(cluster, ledger.now()) if cluster is not None else ClusterPolicy()

    def timeouts(burst: BurstRecord) -> Timeouts:
        return policy_for(burst).timeouts

    def limits(burst: BurstRecord) -> Sequence[BudgetLimit]:
        return policy_for(burst).limits

    def is_ending(uid: str) -> bool:
        cluster = connections.find(uid)
        return cluster is not None and cluster.is_ending

    providers = plugins.open_providers(settings, plugins.ProviderContext(join, directory))
    installation = await ledger.installation()
    context = AdvanceContext(ledger, installation, providers, connections.lead, limits, timeouts, is_ending)
    planner = BurstPlanner(ledger, providers, connections, policy_of)
    return Workplace(source, ledger, installation, settings, providers, connections, planner, context)
