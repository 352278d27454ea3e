"""One Lease on a server that is far away, and contenders with clocks of their own."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from minicluster.kube_client.errors import ApiError, ApiUnreachableError, LeadershipLostError
from minicluster.kube_client.leadership import Leadership, LeadershipClock
from tests.operator.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

NAMESPACE = "operators"
EPOCH = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


@dataclass(slots=True)
class Server:
    """An API server that has one Lease, or none."""

    item: dict[str, Any] | None = None
    versions: int = 0
    requests: list[tuple[str, float]] = field(default_factory=list)
    readers: set[str] = field(default_factory=set)

    @property
    def spec(self) -> dict[str, Any]:
        """Return the Lease's spec."""
        assert self.item is not None
        spec: dict[str, Any] = self.item["spec"]
        return spec

    def edit(self, **changes: Any) -> None:
        """Change the Lease as a user does; None removes a field."""
        assert self.item is not None
        spec = {key: value for key, value in {**self.spec, **changes}.items() if value is not None}
        self.store({**self.item, "spec": spec})

    def store(self, item: dict[str, Any]) -> dict[str, Any]:
        """Keep an object under a new version."""
        self.versions += 1
        metadata = {**item["metadata"], "resourceVersion": str(self.versions)}
        self.item = copy.deepcopy({**item, "metadata": metadata})
        return self.item

    def create(self, item: dict[str, Any]) -> dict[str, Any]:
        """Take in a new Lease."""
        if self.item is not None:
            raise ApiError(409, "AlreadyExists", "it exists")
        return self.store(item)

    def replace(self, item: dict[str, Any]) -> dict[str, Any]:
        """Take in a changed Lease, if it was the last version that was changed."""
        if self.item is None:
            raise ApiError(404, "NotFound", "there is none")
        if self.item["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", "the object has been modified")
        return self.store(item)

    def read(self) -> dict[str, Any]:
        """Return the Lease."""
        if self.item is None:
            raise ApiError(404, "NotFound", "there is none")
        return copy.deepcopy(self.item)


@dataclass(frozen=True, slots=True)
class Trip:
    """The fate of one request: seconds on the way there and back, and what gets lost."""

    there: float = 0.01
    back: float = 0.01
    request_lost: bool = False
    answer_lost: bool = False
    error: ApiError | None = None


@dataclass(slots=True)
class Connection:
    """A contender's way to the server. A request that its sender gave up arrives all the same."""

    server: Server
    owner: str = "a"
    trips: Iterator[Trip] | None = None
    cut: bool = False

    async def read(self, resource: Any, namespace: str, name: str) -> dict[str, Any]:
        """Read the Lease."""
        found = await self._travel("get", self.server.read)
        self.server.readers.add(self.owner)
        return found

    async def create(self, item: dict[str, Any]) -> dict[str, Any]:
        """Create the Lease; like the real client, answer with its metadata only."""
        sent = copy.deepcopy(item)
        found = await self._travel("create", lambda: self.server.create(sent))
        return {"metadata": found["metadata"]}

    async def replace(self, item: dict[str, Any]) -> dict[str, Any]:
        """Replace the Lease."""
        sent = copy.deepcopy(item)
        return await self._travel("update", lambda: self.server.replace(sent))

    async def _travel(self, verb: str, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        trip = next(self.trips, Trip()) if self.trips else Trip()
        if self.cut or trip.request_lost:
            await asyncio.sleep(trip.there)
            raise ApiUnreachableError("connection refused")
        return copy.deepcopy(await asyncio.shield(asyncio.ensure_future(self._arrive(verb, act, trip))))

    async def _arrive(self, verb: str, act: Callable[[], dict[str, Any]], trip: Trip) -> dict[str, Any]:
        await asyncio.sleep(trip.there)
        self.server.requests.append((verb, now()))
        if trip.error is not None:
            raise trip.error
        error: ApiError | None = None
        found: dict[str, Any] = {}
        try:
            found = act()
        except ApiError as refusal:
            error = refusal
        await asyncio.sleep(trip.back)
        if trip.answer_lost:
            raise ApiUnreachableError("connection reset by peer")
        if error is not None:
            raise error
        return found


def timing(rate: float = 1.0, offset: float = 0.0, stalls: Iterator[float] | None = None) -> LeadershipClock:
    """Return a clock that runs at another rate, from another start; its owner wakes up late by `stalls`."""

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / rate + (next(stalls, 0.0) if stalls else 0.0))

    return LeadershipClock(
        clock=lambda: now() * rate + offset,
        sleep=sleep,
        today=lambda: EPOCH + timedelta(seconds=now() * rate + offset),
        jitter=lambda: 0.0,
    )


def contender(server: Server, name: str, clock: LeadershipClock | None = None, **way: Any) -> Leadership:
    """Return a contender for the server's Lease."""
    return Leadership(
        Connection(server, name, **way),
        NAMESPACE,
        name,
        name="minicluster-operator",
        timing=clock or timing(),
    )


async def work(leadership: Leadership) -> None:
    """Lead whenever possible, for ever."""
    while True:
        await leadership.acquire()
        try:
            await leadership.keep()
        except LeadershipLostError:
            continue


@contextlib.asynccontextmanager
async def doing(what: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Task[Any]]:
    """Have something go on meanwhile; cancelled at the end, as by kill -9."""
    task = asyncio.ensure_future(what)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def takeover(standby: Leadership) -> float:
    """Return how many seconds it takes until a standby leads."""
    begin = now()
    await asyncio.wait_for(standby.acquire(), 120)
    return now() - begin


def leading(server: Server, name: str = "a") -> Leadership:
    """Return a contender that is to lead: call `acquire`."""
    return contender(server, name)
