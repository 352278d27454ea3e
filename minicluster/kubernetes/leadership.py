"""Which of several operators writes: the one that holds the Lease.

Semantics of client-go's `leaderelection`, with three differences, each on the safe side. A leader counts its
deadline from when it *sent* the renewal, and asks before each write whether it has passed (`may_write`). A
standby never waits for less than its own terms, whatever somebody wrote into the Lease. And a Lease that was
deleted, or whose holder was blotted out, is still the old holder's until its time is over.

So two operators may write at once only where a Lease is deleted or given away by hand as if it were released,
and then until the leader's next renewal. Such late writes are harmless (server-side apply, preconditions).
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NoReturn, Protocol

from minicluster.kubernetes import lease
from minicluster.kubernetes.errors import ApiError, KubernetesError, LeadershipLostError
from minicluster.kubernetes.lease import Sighting, Terms
from minicluster.kubernetes.resources import LEASES
from minicluster.kubernetes.settings import LEASE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from minicluster.kubernetes.resources import Resource
    from minicluster.plan.fields import Object

VERBS = ("get", "create", "update")
"""What the operator's role must allow on Leases in its own namespace."""

NEVER = float("-inf")
# A pause is at most a quarter shorter than the retry period, so that many operators do not ask in step.
JITTER = 0.25
# A pause that ends with the Lease is at least this long: shorter ones might not move the clock.
SHORTEST_PAUSE = 0.01

logger = logging.getLogger(__name__)


def uptime() -> float:
    """Return seconds of a clock that nobody sets, and that runs on while a laptop sleeps where one does."""
    boot_time: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)


def _today() -> datetime:
    return datetime.now(UTC)


class Leases(Protocol):
    """The part of an `Api` that an election needs; its writes must not be gated by the election."""

    async def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object."""
        ...

    async def create(self, item: Object) -> Object:
        """Create an object."""
        ...

    async def replace(self, item: Object) -> Object:
        """Replace an object; its resourceVersion is a precondition."""
        ...


@dataclass(frozen=True, slots=True)
class Timing:
    """What time it is: `clock` in seconds, for decisions; `today` only for what is shown in the Lease.

    `jitter` returns a number from 0 to 1.
    """

    clock: Callable[[], float] = uptime
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    today: Callable[[], datetime] = _today
    jitter: Callable[[], float] = random.random


TERMS = Terms()
SYSTEM = Timing()


class Leadership:
    """One operator's part in the election. `acquire`, then `keep` as long as it works, then `release`."""

    def __init__(
        self,
        api: Leases,
        namespace: str,
        identity: str,
        *,
        name: str = LEASE,
        terms: Terms = TERMS,
        timing: Timing = SYSTEM,
    ) -> None:
        self.identity = identity
        self._api = api
        self._namespace = namespace
        self._name = name
        self._terms = terms
        self._timing = timing
        self._until = NEVER
        self._item: Object | None = None  # as last seen, with the resourceVersion that is the lock
        self._seen: Sighting | None = None
        self._sent: Object | None = None  # the last spec that was sent, whatever became of it
        self._doing = VERBS[0]
        self._trouble = ""
        self._told = ""

    @property
    def leads(self) -> bool:
        """Whether this operator may write now."""
        return self._timing.clock() < self._until

    @property
    def holder(self) -> str:
        """Return who held the Lease when it was last seen; empty: nobody, or it was never seen."""
        return self._seen.holder if self._seen else ""

    @property
    def trouble(self) -> str:
        """Return why the Lease could not be read or written the last time; empty: it could."""
        return self._trouble

    @property
    def place(self) -> str:
        """Return the Lease's namespace and name, for messages."""
        return f"{self._namespace}/{self._name}"

    def may_write(self) -> None:
        """Raise LeadershipLostError where this operator does not lead, or cannot be sure any more."""
        if self.leads:
            return
        if self._until == NEVER:
            raise LeadershipLostError(
                f"{self.identity} does not hold the Lease {self.place}: nothing is written"
            )
        raise LeadershipLostError(f"{self.identity} {self._silence()}: nothing is written any more")

    async def acquire(self) -> None:
        """Return as soon as this operator leads; whatever goes wrong is logged and tried again."""
        while not await self._attempt(self._patience):
            self._tell_holder()
            await self._timing.sleep(self._standby_pause())
        logger.info("%s leads: it holds the Lease %s", self.identity, self.place)

    async def keep(self) -> NoReturn:
        """Renew the Lease for ever. Raises LeadershipLostError: it failed too long, or another has it."""
        while True:
            left = self._until - self._timing.clock()
            if left > 0:
                await self._timing.sleep(min(self._pause(), left))
                left = self._until - self._timing.clock()
            if left <= 0:
                self._lose(self._silence())
            if not await self._attempt(min(left, self._patience)) and self.holder not in ("", self.identity):
                self._lose(f"lost the Lease {self.place}: {self.holder} holds it")

    async def release(self) -> None:
        """Give the Lease up if it is held, so that a standby takes over at its next look; never raises.

        Call it after `keep` was cancelled, when nothing is being written any more; `may_write` refuses now.
        """
        self._until = NEVER
        try:
            async with asyncio.timeout(self._patience):
                released = await self._give_back()
        except (KubernetesError, TimeoutError) as error:
            logger.warning(
                "%s: %s; another takes over after %g s", self._what_failed(), error, self._terms.lease
            )
            return
        if released:
            logger.info("%s does not lead any more: it gave up the Lease %s", self.identity, self.place)

    @property
    def _patience(self) -> float:
        """The seconds that one attempt may take: two fit before the deadline."""
        return self._terms.renew / 2

    def _pause(self) -> float:
        return self._terms.retry * (1 - JITTER * self._timing.jitter())

    def _standby_pause(self) -> float:
        """Return how long to wait: not past the moment at which the Lease becomes free."""
        left = self._seen.expiry(self._terms) - self._timing.clock() if self._seen else 0.0
        return max(min(self._pause(), left), SHORTEST_PAUSE) if left > 0 else self._pause()

    async def _attempt(self, seconds: float) -> bool:
        """Take or renew the Lease; return whether that worked."""
        try:
            async with asyncio.timeout(seconds):
                done = await self._take_or_renew()
        except TimeoutError:
            self._meet_trouble(f"no answer within {seconds:g} s", logging.WARNING)
            return False
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:  # else another was faster, which the next look tells
                self._refused(error)
            return False
        except KubernetesError as error:
            self._meet_trouble(str(error), logging.WARNING)
            return False
        self._end_trouble()
        return done

    async def _take_or_renew(self) -> bool:
        if self.leads and self._item is not None:
            try:
                await self._write(self._item)
            except ApiError as error:
                if error.status not in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                    raise
            else:
                return True
        await self._look()
        if not self._is_free():
            return False
        await self._write(self._item or lease.new(self._namespace, self._name))
        return True

    async def _write(self, item: Object) -> None:
        """Write this operator into the Lease. Its deadline counts from before the request was sent."""
        now = self._timing.clock()
        wanted = lease.held(item, self.identity, self._terms, self._timing.today())
        await self._send(wanted)
        self._until = now + self._terms.renew

    async def _send(self, wanted: Object) -> None:
        self._sent = wanted["spec"]
        exists = "resourceVersion" in wanted["metadata"]
        self._doing = "update" if exists else "create"
        answer = await (self._api.replace(wanted) if exists else self._api.create(wanted))
        self._see(lease.answered(wanted, answer))

    async def _look(self) -> None:
        self._doing = "get"
        try:
            found = await self._api.read(LEASES, self._namespace, self._name)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            self._miss()
        else:
            self._see(lease.answered(found, found))

    def _see(self, item: Object) -> None:
        """Take in what the Lease says; only a change of its spec starts the time anew."""
        self._item = item
        spec = item.get("spec") or {}
        if self._seen is None or self._seen.gone or self._seen.spec != spec:
            self._seen = Sighting(spec, self._timing.clock())

    def _miss(self) -> None:
        """Take in that there is no Lease (any more)."""
        self._item = None
        if self._seen is not None and not self._seen.gone:
            self._seen = Sighting(self._seen.spec, self._timing.clock(), gone=True)

    def _is_free(self) -> bool:
        """Whether nobody else can be leading by this Lease."""
        seen = self._seen
        if seen is None or seen.is_released or seen.spec == self._sent:
            return True
        if self.leads and seen.holder in ("", self.identity):
            return True  # whatever a person did to it: nobody has taken it in the meantime
        return self._timing.clock() >= seen.expiry(self._terms)

    async def _give_back(self) -> bool:
        """Release the Lease if it is this operator's; one that changed meanwhile is looked at once more."""
        for _ in range(2):
            if self._item is None or self.holder != self.identity:
                return False
            try:
                await self._send(lease.released(self._item, self._timing.today()))
            except ApiError as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
                await self._look()
            else:
                return True
        return False

    def _silence(self) -> str:
        why = f" ({self._trouble})" if self._trouble else ""
        return f"could not renew the Lease {self.place} for {self._terms.renew:g} s{why}"

    def _lose(self, why: str) -> NoReturn:
        self._until = NEVER
        logger.error("%s does not lead any more: it %s", self.identity, why)
        raise LeadershipLostError(f"{self.identity} {why}")

    def _tell_holder(self) -> None:
        """Log who leads, whenever that changes."""
        if self.holder in (self._told, ""):
            return
        self._told = self.holder
        logger.info("%s stands by: %s holds the Lease %s", self.identity, self.holder, self.place)

    def _refused(self, error: ApiError) -> None:
        if error.status == HTTPStatus.FORBIDDEN:
            verbs = ", ".join(VERBS)
            needed = (
                f"the operator's Role in {self._namespace} must allow {verbs} on leases.coordination.k8s.io"
            )
            self._meet_trouble(f"{error} ({needed})", logging.ERROR)
        else:
            self._meet_trouble(str(error), logging.WARNING)

    def _meet_trouble(self, why: str, level: int) -> None:
        """Log a trouble once, not at each attempt."""
        trouble = f"{self._what_failed()}: {why}"
        if trouble != self._trouble:
            logger.log(level, "%s; it is tried again", trouble)
        self._trouble = trouble

    def _end_trouble(self) -> None:
        if self._trouble:
            logger.info("the Lease %s can be used again", self.place)
        self._trouble = ""

    def _what_failed(self) -> str:
        return f"cannot {self._doing} the Lease {self.place}"
