"""What all steps use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, TypeVar

from burst.errors import ProviderError, RetryLater
from burst.lifecycle.states import Timeouts
from burst.providers.wanted import wanted_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from burst.elsewhere.remote import RemoteInstance
    from burst.leads.lead import BurstLead, IsolatedLead
    from burst.ledger.ledger import BurstLedger
    from burst.lifecycle.records import BurstRecord
    from burst.planning.records import BudgetLimit
    from burst.providers.provider import BurstProvider, WantedBurst

T = TypeVar("T")


def no_isolation(_given: object) -> NoReturn:
    """Refuse: this service has no isolated bursts."""
    raise RetryLater("this service has no isolated bursts")


def no_observer(_burst: BurstRecord, _now: float) -> None:
    """Take no notice."""


@dataclass(frozen=True)
class AdvanceContext:
    """The ledger, providers and leads, and what is set of them."""

    ledger: BurstLedger
    installation: str
    providers: Mapping[str, BurstProvider]
    """By name."""
    lead: Callable[[str], BurstLead]
    """Returns the lead of a MiniCluster by its uid."""
    limits: Callable[[BurstRecord], Sequence[BudgetLimit]] = lambda _burst: ()
    """Returns what a burst must not exceed: of scopes that are not its own nothing is compared."""
    timeouts: Callable[[BurstRecord], Timeouts] = lambda _burst: Timeouts()
    is_ending: Callable[[str], bool] = lambda _cluster: False
    """Returns whether a MiniCluster, by its uid, is being deleted, and waits for the end of its bursts."""
    left: Callable[[BurstRecord, float], None] = no_observer
    """Called with a burst as it was in a state that it has left, and when that was."""
    stand_ins: Callable[[str], IsolatedLead] = no_isolation
    """Returns the lead of a MiniCluster, by its uid, as isolated bursts ask it."""
    remote: Callable[[BurstRecord], RemoteInstance] = no_isolation
    """Returns the instance elsewhere of an isolated burst."""

    def now(self) -> float:
        """Return the time, in seconds since 1970."""
        return self.ledger.now()

    def provider(self, burst: BurstRecord) -> BurstProvider:
        """Return a burst's provider. Raises RetryLater while the settings do not have it in that location."""
        found = self.providers.get(burst.provider)
        if found is None or found.location != burst.location:
            where = f"{burst.provider} in {burst.location}"
            raise RetryLater(f"the settings do not have provider {where} any more: nothing of it is deleted")
        return found

    def deadlines(self, burst: BurstRecord) -> Timeouts:
        """Return the deadlines of a burst: what its provider makes may take longer than usual."""
        usual, provider = self.timeouts(burst), self.providers.get(burst.provider)
        offers = provider.offers() if provider is not None else ()
        most = max((each.provisioning for each in offers if each.machine == burst.machine), default=0.0)
        return replace(usual, provisioning=most) if most > usual.provisioning else usual

    def wanted(self, burst: BurstRecord) -> WantedBurst:
        """Return what a provider has to know of a burst."""
        return wanted_of(burst, self.installation)


async def called(function: Callable[..., T], *arguments: object) -> T:
    """Return what a provider's call returns, which blocks. Raises ProviderError."""
    try:
        return await asyncio.to_thread(function, *arguments)
    except ProviderError:
        raise
    except Exception as error:
        raise RetryLater(f"{type(error).__name__}: {error}") from error
