"""A provider each of whose calls is counted by how it ended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from burst.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from burst.lifecycle.records import ResourceKey, ResourceReport
    from burst.planning.records import Offer
    from burst.providers.provider import BurstProvider, WantedBurst

    CallCounter = Callable[[str, str, str], None]
    """Takes a provider's name, one of CALLS, and its code."""

T = TypeVar("T")
CALLS = ("create", "get", "broker_problem", "delete", "owned", "problems")
OK = "ok"
ERROR = "error"
"""The code of an exception that no provider should raise, as of a connection that was lost."""
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def code(error: Exception) -> str:
    """Return the code of an error: `retry-later` for RetryLater, ERROR for one that is no ProviderError."""
    return _WORD.sub("-", type(error).__name__).lower() if isinstance(error, ProviderError) else ERROR


class CountedProvider:
    """Calls another provider; see `BurstProvider`. Calls that ask nobody are not counted."""

    def __init__(self, provider: BurstProvider, count: CallCounter) -> None:
        self._provider = provider
        self._count = count

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return self._provider.name

    @property
    def location(self) -> str:
        """Where it makes machines."""
        return self._provider.location

    def offers(self) -> Sequence[Offer]:
        """Return the machines that it has."""
        return self._provider.offers()

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return what it would make."""
        return self._provider.resources(wanted)

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:
        """Make a resource."""
        self._counted("create", lambda: self._provider.create(key, token, wanted))

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return the status of a resource."""
        return self._counted("get", lambda: self._provider.get(key, wanted))

    def broker_problem(self, wanted: WantedBurst) -> str:
        """Return what a broker wrote about why it has not joined."""
        return self._counted("broker_problem", lambda: self._provider.broker_problem(wanted))

    def delete(self, key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete a resource."""
        self._counted("delete", lambda: self._provider.delete(key, wanted))

    def problems(self) -> Iterable[str]:
        """Return what is wrong with its settings."""
        return self._counted("problems", lambda: list(self._provider.problems()))

    def tunnel_problems(self) -> Iterable[str]:
        """Return what is wrong where there are tunnels."""
        return self._counted("tunnel_problems", lambda: list(self._provider.tunnel_problems()))

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List everything that an installation has made."""
        return self._counted("owned", lambda: list(self._provider.owned(installation)))

    def _counted(self, call: str, work: Callable[[], T]) -> T:
        try:
            found = work()
        except Exception as error:
            self._count(self.name, call, code(error))
            raise
        self._count(self.name, call, OK)
        return found
