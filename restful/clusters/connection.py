"""One connection to one instance: calls with its own threads, and whether it is there."""

from __future__ import annotations

import asyncio
import logging
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from minicluster.instance.errors import InstanceGone, WaitTimeout
from restful.clusters.threads import Threads, apart
from restful.errors import HttpProblem

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from minicluster.instance.port import Instance
    from restful.clusters.spec import ClusterSpec
    from restful.settings import ClusterLimits

T = TypeVar("T")

log = logging.getLogger("restful.clusters")

HANG_UP_SECONDS = 2.0
"""For which the end of a cluster waits until its connection has been hung up."""


class ConnectionState(StrEnum):
    """Whether an instance can be asked."""

    AWAY = "away"
    READY = "ready"
    GONE = "gone"
    """It was deleted: nothing but the records of its jobs is left."""


def away(name: str, reason: str, retry: float) -> HttpProblem:
    """Return the answer while an instance cannot be reached."""
    seconds = str(max(1, round(retry)))
    return HttpProblem("instance-away", f"cluster {name}: {reason}", headers={"Retry-After": seconds})


class ClusterConnection:
    """The connection of a cluster, which comes and goes."""

    def __init__(self, spec: ClusterSpec, limits: ClusterLimits) -> None:
        self.spec = spec
        self.state = ConnectionState.AWAY
        self.reason = "is not connected yet"
        """Why it is away, for people."""
        self.retry = limits.first_retry
        """Seconds until it may be back."""
        self.cores_per_node = 1
        self._limits = limits
        self._threads = Threads(f"cluster {spec.name}", limits.threads, limits.waiting)
        self._instance: Instance | None = None
        self._hanging_up: threading.Thread | None = None

    async def open(self) -> Instance:
        """Connect; the state is up to who calls. Raises InstanceError, TimeoutError, HttpProblem."""
        opened = self._threads.start(self.spec.connect)
        try:
            self._instance = await self._within(opened)
        except (TimeoutError, asyncio.CancelledError):
            opened.add_done_callback(_close_late)
            raise
        return self._instance

    async def _within(self, started: asyncio.Future[T]) -> T:
        async with asyncio.timeout(self._limits.call_seconds):  # `wait_for` of 3.11 may lose a cancellation
            return await asyncio.shield(started)

    def ready(self) -> None:
        """Have requests go to the instance."""
        self.state, self.reason = ConnectionState.READY, ""

    def lost(self, reason: str, retry: float) -> None:
        """Have requests answered with the reason, and hang up."""
        if self.state is ConnectionState.READY:
            log.warning("cluster %s: away: %s", self.spec.name, reason)
        self.state, self.reason, self.retry = ConnectionState.AWAY, reason, retry
        instance, self._instance = self._instance, None
        if instance is not None:
            self._hanging_up = apart(instance.close)  # a broker that hangs would stop everybody

    def present(self) -> Instance:
        """Return the instance, for a thread that asks it itself. Raises InstanceGone."""
        if self._instance is None:
            raise InstanceGone(f"cluster {self.spec.name}: {self.reason}")
        return self._instance

    def start(self, function: Callable[[Instance], T]) -> asyncio.Future[T]:
        """Call a function with the instance, in a thread. Raises what `refusal` returns, and "busy"."""
        instance = self._instance
        if instance is None or self.state is not ConnectionState.READY:
            raise self.refusal()
        return self._threads.start(lambda: function(instance))

    def refusal(self) -> HttpProblem:
        """Return the answer to a request that needs the instance: it is away, or is not there any more."""
        if self.state is ConnectionState.GONE:
            return HttpProblem("not-found", f"cluster {self.spec.name}: {self.reason}")
        return away(self.spec.name, self.reason, self.retry)

    async def call(self, function: Callable[[Instance], T]) -> T:
        """Return what a function returns of the instance; its port errors pass.

        Raises HttpProblem "instance-away" where it went away or does not answer, "busy", and
        "instance-refused" where its answer is not what a broker sends.
        """
        try:
            return await self._within(self.start(function))
        except (InstanceGone, WaitTimeout) as error:
            raise away(self.spec.name, str(error), self.retry) from error
        except TimeoutError as error:
            reason = f"did not answer within {self._limits.call_seconds:g} s"
            raise away(self.spec.name, reason, self._limits.first_retry) from error
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            words = f"cluster {self.spec.name}: its instance answers what this service does not understand"
            log.warning("%s: %s", words, ascii(error)[:200])
            raise HttpProblem("instance-refused", words) from error

    async def ask(self, instance: Instance, function: Callable[[Instance], T]) -> T:
        """Return what a function returns of an instance, ready or not. Raises InstanceError, TimeoutError."""
        return await self._within(self._threads.start(lambda: function(instance)))

    def close(self, reason: str = "the service ends", state: ConnectionState = ConnectionState.AWAY) -> None:
        """Hang up for good."""
        self.state = ConnectionState.AWAY
        self.lost(reason, self._limits.last_retry)
        self.state = state
        self._threads.close()

    async def hung_up(self) -> None:
        """Wait until it has been hung up, for some seconds at most."""
        if self._hanging_up is not None:
            await asyncio.to_thread(self._hanging_up.join, HANG_UP_SECONDS)


def _close_late(opened: asyncio.Future[Instance]) -> None:
    """Hang up on an instance that answered when nobody waited any more."""
    if not opened.cancelled() and opened.exception() is None:
        apart(opened.result().close)
