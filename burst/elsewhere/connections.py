"""Connections to instances elsewhere: opened when they are first needed, and anew after one was lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from burst.elsewhere.instance_remote import InstanceRemote
from burst.errors import BurstError, CallInvalid, RetryLater
from burst.providers.provider import IsolatingProvider
from burst.providers.wanted import wanted_of
from minicluster.instance.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from burst.lifecycle.isolation import RemoteView
    from burst.lifecycle.records import BurstRecord
    from burst.providers.provider import BurstProvider

T = TypeVar("T")


class RemoteConnections:
    """Those of one process, one a burst."""

    def __init__(
        self,
        providers: Mapping[str, BurstProvider],
        installation: str,
        now: Callable[[], float],
    ) -> None:
        self._providers = providers
        self._installation = installation
        self._now = now
        self._known: dict[str, ConnectedRemote] = {}

    @property
    def isolating(self) -> frozenset[str]:
        """The names of providers that make instances for single jobs."""
        return frozenset(
            name for name, each in self._providers.items() if isinstance(each, IsolatingProvider)
        )

    def problems(self, name: str) -> list[str]:
        """Return what is wrong with a provider where bursts are isolated. Blocks."""
        found = self._providers.get(name)
        if isinstance(found, IsolatingProvider):
            return list(found.isolation_problems())
        return [f"{name} makes no instances for single jobs (spec.bursting.join: false)"]

    def of(self, burst: BurstRecord) -> ConnectedRemote:
        """Return a burst's instance: it connects when it is asked for something."""
        found = self._known.get(burst.label)
        if found is None:
            connect = self._connect(burst)
            found = self._known[burst.label] = ConnectedRemote(connect, self._now)
        return found

    def keep(self, labels: frozenset[str]) -> None:
        """Hang up where bursts are not among these. Blocks."""
        for label in self._known.keys() - labels:
            self._known.pop(label).close()

    def close(self) -> None:
        """Hang up everywhere. Blocks."""
        self.keep(frozenset())

    def _connect(self, burst: BurstRecord) -> Callable[[], InstanceRemote]:
        provider, wanted = self._providers.get(burst.provider), wanted_of(burst, self._installation)

        def connect() -> InstanceRemote:
            if not isinstance(provider, IsolatingProvider):
                raise RetryLater(f"provider {burst.provider} makes no instances for single jobs")
            instance = provider.instance(wanted)
            try:
                return InstanceRemote(instance, burst.label, self._now)
            except BaseException:
                instance.close()
                raise

        return connect


class ConnectedRemote:
    """See `burst.elsewhere.remote.RemoteInstance`."""

    def __init__(self, connect: Callable[[], InstanceRemote], now: Callable[[], float]) -> None:
        self._connect = connect
        self._now = now
        self._open: InstanceRemote | None = None
        self._silent_since: float | None = None

    @property
    def silent_since(self) -> float | None:
        """Since when it does not answer."""
        return self._silent_since

    async def view(self, received: Mapping[str, int] | None) -> RemoteView:
        """Return what it reports."""
        return await asyncio.to_thread(self._asked, lambda remote: remote.view(received))

    async def submit(self, jobspec: Mapping[str, Any]) -> int:
        """Submit the job on hold, unless it is there."""
        return await asyncio.to_thread(self._asked, lambda remote: remote.submit(jobspec))

    async def release(self) -> None:
        """Let the job start."""
        await asyncio.to_thread(self._asked, lambda remote: remote.release())

    async def pack(self) -> None:
        """Have the results written as one archive."""
        await asyncio.to_thread(self._asked, lambda remote: remote.pack())

    async def cancel(self, reason: str) -> None:
        """Cancel the job."""
        await asyncio.to_thread(self._asked, lambda remote: remote.cancel(reason))

    def close(self) -> None:
        """Hang up. Blocks."""
        found, self._open = self._open, None
        if found is not None:
            found.close()

    def _asked(self, work: Callable[[InstanceRemote], T]) -> T:
        """Return what comes of asking it; whatever fails means that it does not answer now."""
        try:
            if self._open is None:
                self._open = self._connect()
            answer = work(self._open)
        except CallInvalid:
            raise
        except Exception as error:
            self.close()
            if self._silent_since is None:
                self._silent_since = self._now()
            if isinstance(error, RetryLater):
                raise
            known = isinstance(error, BurstError | InstanceError)
            raise RetryLater(str(error) if known else f"{type(error).__name__}: {error}") from error
        self._silent_since = None
        return answer
