"""The clouds of a rehearsal: each provider of the settings, over a cloud in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from burst.lifecycle.records import PREFIX, ResourcePhase
from burst.providers import plugins
from burst.providers.memory import MemoryCloud
from burst.providers.node_pools.provider import NodePoolProvider
from burst.rehearsal import fakes
from burst.rehearsal.cloud import RehearsedCloud
from burst.rehearsal.fakes import FAKES, JOINED_MACHINES, FakeParts
from burst.rehearsal.plain_pools import BURST, PlainPools
from burst.rehearsal.pods import RehearsedPods
from burst.rehearsal.scenario import ScenarioCloud

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import ExitStack

    from burst.planning.records import Offer
    from burst.providers.plugins import ProviderContext
    from burst.providers.provider import BurstProvider
    from burst.rehearsal.cloud import CloudMachine
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

    def machines(self, label: str) -> list[CloudMachine]:
        """Return the machines of a burst that are there now."""
        return [each for each in self.cloud.there() if _is_of(each, label)]

    def brokers(self, label: str) -> int:
        """Return how many brokers of a burst are up now."""
        machines = self.machines(label)
        if self.pods is None:
            return sum(each.started + self.cloud.coming <= self.cloud.now() for each in machines)
        there = (each for each in self.pods.there() if each.burst == label)
        is_up = any(each.phase is ResourcePhase.READY for each in there)
        return len(machines) if is_up else 0


def opened(
    settings: SettingsFile,
    context: ProviderContext,
    now: Callable[[], float],
    wanted: Mapping[str, ScenarioCloud],
    stack: ExitStack,
) -> dict[str, RehearsedProvider]:
    """Return the providers by name; the stack ends what they have begun.

    Raises SettingsInvalid as the service does.
    """
    known = plugins.kinds()
    real = plugins.open_providers(settings, context, known)
    found = {}
    for index, each in enumerate(settings.settings.providers):
        name = each.name
        cloud = rehearsed_cloud(real[name].offers(), now, wanted.get(name, ScenarioCloud()))
        pods = MemoryCloud(now, POD_SECONDS, POD_SECONDS)
        if each.kind not in FAKES:
            found[name] = plain(name, real[name].offers(), cloud, pods)
            continue
        own = settings.part(("providers", index, "settings"), known.kinds[each.kind].settings)
        parts = FakeParts(name, own, cloud, RehearsedPods(pods), context.state / name, stack)
        joined = None if each.kind in JOINED_MACHINES else pods
        found[name] = RehearsedProvider(fakes.opened(each.kind, parts), cloud, joined)
    return found


def plain(name: str, offers: Sequence[Offer], cloud: RehearsedCloud, pods: MemoryCloud) -> RehearsedProvider:
    """Return a provider that has no fake of its cloud: pools and pods in memory."""
    provider = NodePoolProvider(PlainPools(cloud, offers, name), RehearsedPods(pods))
    return RehearsedProvider(provider, cloud, pods)


def rehearsed_cloud(
    offers: Sequence[Offer], now: Callable[[], float], wanted: ScenarioCloud
) -> RehearsedCloud:
    """Return a cloud that sells what is offered, and behaves as a scenario has it."""
    return RehearsedCloud(
        now,
        prices={each.machine: each.price for each in offers if not each.spot},
        fee=max((each.fee for each in offers), default=0),
        spot_prices={each.machine: each.price for each in offers if each.spot},
        coming=wanted.coming_seconds,
        going=wanted.going_seconds,
        lag=wanted.lag_seconds,
        capacity=dict(wanted.capacity),
        quota=wanted.quota,
    )


def _is_of(machine: CloudMachine, label: str) -> bool:
    """Return whether a machine is a burst's: by its label, or by the name of its pool."""
    return machine.labels.get(BURST) == label or machine.group.startswith(f"{PREFIX}{label}")
