"""Bursting, put together: ledger, settings, providers and MiniClusters, for commands and services."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from burst import plan_hooks, reports
from burst.advance.context import AdvanceContext, no_observer
from burst.clusters import policy
from burst.clusters.connections import LeadConnections
from burst.clusters.records import ClusterPolicy
from burst.elsewhere.connections import RemoteConnections
from burst.errors import CallInvalid
from burst.leads.payer_keys import PayerKeys
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.planner import BurstPlanner
from burst.providers import plugins
from minicluster.database import migrate, open_database, state_directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from burst.clusters.records import BurstingCluster, ClusterSource
    from burst.joining.records import JoinSettings
    from burst.joining.tunnel_pods import TunnelPods
    from burst.lifecycle.records import BurstRecord
    from burst.lifecycle.states import Timeouts
    from burst.planning.records import BudgetLimit
    from burst.providers.provider import BurstProvider, WantedBurst
    from burst.settings.file import SettingsFile


def _itself(provider: BurstProvider) -> BurstProvider:
    return provider


@dataclass(frozen=True, slots=True)
class BurstObservers:
    """What measures a service."""

    provider: Callable[[BurstProvider], BurstProvider] = _itself
    """Returns a provider that counts its calls."""
    left: Callable[[BurstRecord, float], None] = no_observer
    """Called with a burst as it was in a state that it has left, and when that was."""


@dataclass(frozen=True, slots=True)
class WorkplaceParts:
    """What is put together."""

    source: ClusterSource
    url: str = field(repr=False)
    """Of the ledger's database; it may have a password."""
    settings: SettingsFile
    directory: Path
    """What providers keep on this machine."""
    observers: BurstObservers = field(default_factory=BurstObservers)
    tunnel_pods: TunnelPods | None = None
    """Where tunnels run, if not on this machine."""


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
    remotes: RemoteConnections | None = None
    """Connections to instances of single jobs; None: there are none."""

    async def clusters(self) -> list[BurstingCluster]:
        """Return the MiniClusters that there are now, by name."""
        found = await asyncio.to_thread(self.source.clusters)
        await asyncio.to_thread(self.connections.serve, found)
        return found

    async def withdraw(self, opened: Iterable[BurstRecord]) -> None:
        """Take back what is beside MiniClusters without open bursts. Raises BackendError."""
        opened = tuple(opened)
        if self.remotes is not None:
            await asyncio.to_thread(self.remotes.keep, frozenset(each.label for each in opened))
        await asyncio.to_thread(self.source.withdraw, {each.cluster for each in opened if not each.isolated})

    async def publish(self, opened: Iterable[BurstRecord]) -> None:
        """Show the open bursts where their MiniClusters are. Raises BackendError."""
        found = reports.statuses(opened, self.settings.settings.currency)
        await asyncio.to_thread(self.source.publish, found)


@contextlib.asynccontextmanager
async def opened(parts: WorkplaceParts) -> AsyncIterator[Workplace]:
    """Open everything, with the tables of this release. Raises DatabaseError and SettingsInvalid."""
    await migrate(parts.url, SCHEMA)
    database = await open_database(parts.url, SCHEMA)
    connections = LeadConnections(PayerKeys(_payer_keys(parts)))
    try:
        ledger = BurstLedger(database, f"{socket.gethostname()}:{os.getpid()}", time.time)
        workplace = await _composed(parts, ledger, connections)
        try:
            yield workplace
        finally:
            if workplace.remotes is not None:
                await asyncio.to_thread(workplace.remotes.close)
    finally:
        await asyncio.to_thread(connections.close)
        await database.close()


def _payer_keys(parts: WorkplaceParts) -> list[str]:
    """Return the keys of RESTful APIs: those of the settings, and that of this user's own."""
    try:
        own = [(parts.directory / state_directory.PAYER_KEY).read_text().strip()]
    except OSError:
        own = []
    return [*parts.settings.settings.payer_keys, *own]


async def _composed(parts: WorkplaceParts, ledger: BurstLedger, connections: LeadConnections) -> Workplace:
    def join(wanted: WantedBurst) -> JoinSettings:
        cluster = connections.cluster(wanted.cluster)
        if not wanted.isolated:
            return cluster.join(wanted.slot)
        if cluster.alone is None:
            raise CallInvalid(f"MiniCluster {cluster.name}: its jobs have no instances of their own")
        return cluster.alone()

    def join_machines(wanted: WantedBurst) -> JoinSettings:
        cluster = connections.cluster(wanted.cluster)
        return (cluster.join_machines or cluster.join)(wanted.slot)

    def policy_of(cluster: BurstingCluster, now: float) -> ClusterPolicy:
        return policy.of_cluster(cluster, parts.settings.settings, now)

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

    given = plugins.ProviderContext(join, parts.directory, parts.tunnel_pods, join_machines)
    made = plugins.open_providers(parts.settings, given)
    observers = parts.observers
    providers = {name: observers.provider(each) for name, each in made.items()}
    installation = await ledger.installation()
    remotes = RemoteConnections(made, installation, ledger.now)
    context = AdvanceContext(
        ledger,
        installation,
        providers,
        connections.lead,
        limits,
        timeouts,
        is_ending,
        observers.left,
        stand_ins=connections.stand_ins,
        remote=remotes.of,
    )
    hooks = plan_hooks.loaded(parts.settings)
    planner = BurstPlanner(ledger, providers, connections, policy_of, hooks, remotes.isolating)
    return Workplace(
        parts.source, ledger, installation, parts.settings, providers, connections, planner, context, remotes
    )
