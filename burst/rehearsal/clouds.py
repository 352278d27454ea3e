"""The clouds of a rehearsal: each provider of the settings, over a cloud in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from burst.lifecycle.records import ResourcePhase
from burst.providers import plugins
from burst.providers.memory import MemoryCloud
from burst.providers.node_pools.provider import NodePoolProvider
from burst.rehearsal.cloud import RehearsedCloud
from burst.rehearsal.plain_pools import BURST, PlainPools
from burst.rehearsal.pods import RehearsedPods
from burst.rehearsal.scenario import ScenarioCloud

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from burst.planning.records import Offer
    from burst.providers.plugins import ProviderContext
    from burst.providers.provider import BurstProvider
    from burst.settings.file import SettingsFile

POD_SECONDS = 2.0
"""How long pods take to come and to go where their nodes are there."""


@dataclass(frozen=True, slots=True)
class RehearsedProvider:
    """A provider, and what is behind it."""

    provider: BurstProvider
    cloud: RehearsedCloud
    pods: MemoryCloud | None = None
    """What runs on its nodes; None: machines join by themselves."""

    def brokers(self, label: str) -> int:
        """Return how many brokers of a burst are up now."""
        now = self.cloud.now()
        machines = [each for each in self.cloud.there() if each.labels.get(BURST) == label]
        if self.pods is None:
            return sum(each.started + self.cloud.coming <= now for each in machines)
        there = (each for each in self.pods.there() if each.burst == label)
        is_up = any(each.phase is ResourcePhase.READY for each in there)
        return len(machines) if is_up else 0


def opened(
    settings: SettingsFile,
    context: ProviderContext,
    now: Callable[[], float],
    wanted: Mapping[str, ScenarioCloud],
) -> dict[str, RehearsedProvider]:
    """Return the providers by name. Raises SettingsInvalid as the service does."""
    found = plugins.open_providers(settings, context)
    return {
        name: _plain(name, provider.offers(), now, wanted.get(name, ScenarioCloud()))
        for name, provider in found.items()
    }


def _plain(
    name: str, offers: Sequence[Offer], now: Callable[[], float], wanted: ScenarioCloud
) -> RehearsedProvider:
    """Return a provider that has no fake of its cloud: pools and pods in memory."""
    cloud, pods = rehearsed_cloud(offers, now, wanted), MemoryCloud(now, POD_SECONDS, POD_SECONDS)
    provider = NodePoolProvider(PlainPools(cloud, offers, name), RehearsedPods(pods))
    return RehearsedProvider(provider, cloud, pods)


def rehearsed_cloud(
    offers: Sequence[Offer], now: Callable[[], float], wanted: ScenarioCloud
) -> RehearsedCloud:
    """Return a cloud that sells what is offered, and behaves as a scenario has it."""
    return RehearsedCloud(
        now,
        prices={each.machine: each.price for each in offers if not each.spot},
        spot_prices={each.machine: each.price for each in offers if each.spot},
        coming=wanted.coming_seconds,
        going=wanted.going_seconds,
        lag=wanted.lag_seconds,
        capacity=dict(wanted.capacity),
        quota=wanted.quota,
    )
