"""What is wrong with providers, before anything is made: for commands, and for a service that begins."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple

from burst.advance.context import called
from burst.clusters import policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from burst.clusters.records import BurstingCluster
    from burst.workplace import Workplace

INTERVAL = 10.0
"""Seconds between two looks at whether a MiniCluster needs more of a provider than was asked for."""
_log = logging.getLogger(__name__)


class ProviderNeeds(NamedTuple):
    """What MiniClusters need of a provider beside pods or machines that join."""

    tunnels: bool = False
    isolation: bool = False
    """Instances of their own for single jobs."""


NOTHING = ProviderNeeds()


def needed(workplace: Workplace, name: str, clusters: Iterable[BurstingCluster]) -> ProviderNeeds:
    """Return what those of the MiniClusters need of a provider that may use it."""
    users = users_of(workplace, name, clusters)
    return ProviderNeeds(any(each.is_tunneled for each in users), any(each.is_isolated for each in users))


def users_of(workplace: Workplace, name: str, clusters: Iterable[BurstingCluster]) -> list[BurstingCluster]:
    """Return those of the MiniClusters that may use a provider."""
    settings, now = workplace.settings.settings, workplace.ledger.now()
    return [each for each in clusters if name in policy.of_cluster(each, settings, now).providers]


async def problems(workplace: Workplace, name: str, needs: ProviderNeeds) -> list[str]:
    """Return what is wrong with a provider, each problem once. Raises ProviderError."""
    found = workplace.providers[name]
    every = list(await called(found.problems))
    if needs.isolation and workplace.remotes is not None:
        every += await called(workplace.remotes.problems, name)
    if needs.tunnels:
        every += await called(found.tunnel_problems)
    return list(dict.fromkeys(every))  # a server that is not reached is a problem of each


async def remarks(workplace: Workplace, name: str, known: Sequence[str]) -> list[str]:
    """Return what would be wrong with a provider for MiniClusters that nobody knows of yet.

    `known` are its problems. Raises ProviderError.
    """
    of_tunnels = await called(workplace.providers[name].tunnel_problems)
    found = [f"only for tunnels: {each}" for each in of_tunnels if each not in known]
    remotes = workplace.remotes
    if remotes is None or name not in remotes.isolating:
        return found
    of_isolation = await called(remotes.problems, name)
    return [*found, *(f"only for isolated bursts: {each}" for each in of_isolation if each not in known)]


async def warn(
    workplace: Workplace,
    clusters: Callable[[], Sequence[BurstingCluster]],
    always: ProviderNeeds = NOTHING,
    interval: float = INTERVAL,
) -> None:
    """Log what is wrong with providers, each problem once, for ever.

    Each is asked at the beginning, and again where a MiniCluster needs more of it than was asked for then. No
    burst waits for it: those that a problem does not concern are made all the same.
    """
    asked: dict[str, ProviderNeeds] = {}
    logged: set[tuple[str, str]] = set()
    while True:
        found = clusters()
        for name in workplace.providers:
            wanted, before = needed(workplace, name, found), asked.get(name)
            needs = _joined(wanted, always, before or NOTHING)
            if needs == before:
                continue
            asked[name] = needs
            for text in await _texts(workplace, name, needs):
                if (name, text) not in logged:
                    logged.add((name, text))
                    _log.warning("provider %s%s", name, text)
        await asyncio.sleep(interval)


def _joined(*needs: ProviderNeeds) -> ProviderNeeds:
    return ProviderNeeds(any(each.tunnels for each in needs), any(each.isolation for each in needs))


async def _texts(workplace: Workplace, name: str, needs: ProviderNeeds) -> list[str]:
    """Return what follows the name of a provider in the log."""
    try:
        return [f": {each}" for each in await problems(workplace, name, needs)]
    except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
        return [f" cannot be asked what is wrong with it: {error}"]
