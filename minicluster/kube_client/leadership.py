"""Leader election: of several processes of a service, the one that holds the Lease writes.

The semantics are those of client-go's `leaderelection`, with three differences, each on the safe side:

- A leader counts its deadline from when it *sent* the renewal, and checks it before each write (`may_write`).
- A standby never waits for less than its own terms, even if the Lease has shorter ones.
- A Lease that was deleted, or whose holder was removed, is the old holder's until its time is over.

So two processes write at once only if a user deletes the Lease, or marks it as released. That lasts until the
leader's next renewal. Such late writes are harmless (server-side apply, preconditions).
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NoReturn

from minicluster.kube_client import lease
from minicluster.kube_client.election_log import ElectionLog
from minicluster.kube_client.errors import ApiError, KubernetesError, LeadershipLostError
from minicluster.kube_client.lease import Sighting, Terms
from minicluster.kube_client.lease_store import LeaseStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from minicluster.kube_client.lease_store import Leases
    from minicluster.plan.objects.fields import Object

NEVER = float("-inf")
# A pause is at most a quarter shorter than the retry period, so that many processes do not ask in step.
JITTER = 0.25
MIN_DELAY = 0.01
"""Seconds that a wait for the end of the Lease takes at least: shorter ones might not move the clock."""

logger = logging.getLogger(__name__)


def uptime() -> float:
    """Return seconds of a monotonic clock, which includes suspended time where the system offers that."""
    boot_time: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)


def _today() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class LeadershipClock:
    """The clocks of an election, for tests to replace."""

    clock: Callable[[], float] = uptime
    """Seconds, for decisions."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    today: Callable[[], datetime] = _today
    """The date and time that the Lease shows; nothing is decided by it."""
    jitter: Callable[[], float] = random.random
    """Returns a number from 0 to 1."""

    def pause(self, terms: Terms) -> float:
        """Return how long to wait between two attempts, in seconds."""
        return terms.retry * (1 - JITTER * self.jitter())

    def standby_pause(self, terms: Terms, seen: Sighting | None) -> float:
        """Return how long a standby waits, in seconds: not past the time at which the Lease becomes free."""
        left = seen.expiry(terms) - self.clock() if seen else 0.0
        return max(min(self.pause(terms), left), MIN_DELAY) if left > 0 else self.pause(terms)


TERMS = Terms()
SYSTEM = LeadershipClock()


class Leadership:
    """One process's part in the election: call `acquire`, then `keep` while it works, then `release`."""

    def __init__(
        self,
        api: Leases,
        namespace: str,
        identity: str,
        *,
        name: str,
        terms: Terms = TERMS,
        timing: LeadershipClock = SYSTEM,
    ) -> None:
        self.identity = identity
        self._lease = LeaseStore(api, namespace, name, timing.clock)
        self._log = ElectionLog(identity, self._lease)
        self._terms = terms
        self._timing = timing
        self._until = NEVER

    @property
    def leads(self) -> bool:
        """Whether this process may write now."""
        return self._timing.clock() < self._until

    @property
    def holder(self) -> str:
        """Return the holder of the Lease when it was last read; empty: no holder, or it was never read."""
        return self._lease.holder

    @property
    def trouble(self) -> str:
        """Return why the Lease could not be read or written the last time; empty: it could."""
        return self._log.trouble

    def may_write(self) -> None:
        """Raise LeadershipLostError where this process does not lead, or cannot be sure any more."""
        if self.leads:
            return
        if self._until == NEVER:
            raise LeadershipLostError(
                f"{self.identity} does not hold the Lease {self._lease.namespaced_name}: nothing is written"
            )
        raise LeadershipLostError(f"{self.identity} {self._why_lost()}: nothing is written any more")

    async def acquire(self) -> None:
        """Return as soon as this process leads; failures are logged and tried again."""
        while not await self._attempt(self._terms.attempt):
            self._log.stands_by()
            await self._timing.sleep(self._timing.standby_pause(self._terms, self._lease.seen))
        logger.info("%s leads: it holds the Lease %s", self.identity, self._lease.namespaced_name)

    async def keep(self) -> NoReturn:
        """Renew the Lease for ever. Raises LeadershipLostError if that fails too long, or another has it."""
        while True:
            left = self._until - self._timing.clock()
            if left > 0:
                await self._timing.sleep(min(self._timing.pause(self._terms), left))
                left = self._until - self._timing.clock()
            if left <= 0:
                self._lose(self._why_lost())
            if not await self._attempt(min(left, self._terms.attempt)) and self.holder not in (
                "",
                self.identity,
            ):
                self._lose(f"lost the Lease {self._lease.namespaced_name}: {self.holder} holds it")

    async def release(self) -> None:
        """Release the Lease if this process holds it, so that a standby takes over at its next poll.

        Never raises. Call it after `keep` was cancelled, when no write is under way. From then on `may_write`
        raises.
        """
        self._until = NEVER
        try:
            async with asyncio.timeout(self._terms.attempt):
                released = await self._give_back()
        except (KubernetesError, TimeoutError) as error:
            logger.warning(
                "%s: %s; another takes over after %g s", self._log.what_failed(), error, self._terms.lease
            )
            return
        if released:
            logger.info(
                "%s does not lead any more: it gave up the Lease %s",
                self.identity,
                self._lease.namespaced_name,
            )

    async def _attempt(self, seconds: float) -> bool:
        """Take or renew the Lease; return whether that worked."""
        try:
            async with asyncio.timeout(seconds):
                done = await self._take_or_renew()
        except TimeoutError:
            self._log.failed(f"no answer within {seconds:g} s")
            return False
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:  # else another was faster, which the next poll shows
                self._log.refused(error)
            return False
        except KubernetesError as error:
            self._log.failed(str(error))
            return False
        self._log.worked()
        return done

    async def _take_or_renew(self) -> bool:
        if self.leads and self._lease.item is not None:
            try:
                await self._write(self._lease.item)
            except ApiError as error:
                if error.status not in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                    raise
            else:
                return True
        await self._lease.read()
        if not self._is_free():
            return False
        await self._write(self._lease.item or self._lease.new())
        return True

    async def _write(self, item: Object) -> None:
        """Write this process into the Lease. Its deadline counts from before the request is sent."""
        now = self._timing.clock()
        wanted = lease.renewed(item, self.identity, self._terms, self._timing.today())
        await self._lease.write(wanted)
        self._until = now + self._terms.renew

    def _is_free(self) -> bool:
        """Whether no other process can be leading by this Lease."""
        seen = self._lease.seen
        if seen is None or seen.is_released or seen.spec == self._lease.sent:
            return True
        if self.leads and seen.holder in ("", self.identity):
            return True  # a user may have changed it: no other process has taken it since
        return self._timing.clock() >= seen.expiry(self._terms)

    async def _give_back(self) -> bool:
        """Release the Lease if it is this process's; one that changed meanwhile is read once more."""
        for _ in range(2):
            if self._lease.item is None or self.holder != self.identity:
                return False
            try:
                await self._lease.write(lease.released(self._lease.item, self._timing.today()))
            except ApiError as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
                await self._lease.read()
            else:
                return True
        return False

    def _why_lost(self) -> str:
        why = f" ({self.trouble})" if self.trouble else ""
        return f"could not renew the Lease {self._lease.namespaced_name} for {self._terms.renew:g} s{why}"

    def _lose(self, why: str) -> NoReturn:
        self._until = NEVER
        logger.error("%s does not lead any more: it %s", self.identity, why)
        raise LeadershipLostError(f"{self.identity} {why}")
