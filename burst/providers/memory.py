"""A provider in memory with a clock, a bill and faults: to rehearse policies, and to prove what never leaks.

It behaves as clouds do: resources take their time to come and to go and cost money meanwhile, listings lag,
answers are lost after a call took effect, and deletions fail.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from burst.errors import NameTaken, NoCapacity
from burst.lifecycle.records import PREFIX, ResourceKey, ResourcePhase, ResourceReport
from burst.planning import money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from burst.planning.records import Offer
    from burst.providers.provider import WantedBurst

NODES, PODS = "nodes", "pods"
"""What a burst has: machines, which cost money, and what runs on them."""


@dataclass(slots=True)
class Fault:
    """What happens to the next call of a kind."""

    error: Exception
    takes_effect: bool = False
    """Whether the call is served before: only its answer is lost."""


@dataclass(slots=True)
class _Made:
    key: ResourceKey
    burst: str
    installation: str
    price: int
    fee: int
    """What it costs an hour besides its nodes."""
    created: float
    ready: float
    """When it becomes ready."""
    broken: str = ""
    gone: float | None = None
    """When it is gone, once it is being deleted."""
    hidden: float | None = None
    """From when on it is reported as gone, though listings have it."""
    until: float = 0.0
    ends: list[float | None] = field(default_factory=list)
    """When each of its nodes was taken away; None: it was not."""

    def is_there(self, now: float) -> bool:
        return self.created <= now and (self.gone is None or now < self.gone)

    def nodes(self, now: float) -> int:
        return sum(end is None or now < end for end in self.ends) if self.is_there(now) else 0

    def bill(self, now: float) -> int:
        last = now if self.gone is None else min(now, self.gone)
        spans = [(last if end is None else min(last, end)) - self.created for end in self.ends]
        fee = money.cost(self.fee, 1, last - self.created)
        return fee + money.cost(self.price, 1, sum(max(each, 0.0) for each in spans))

    def phase(self, now: float) -> ResourcePhase:
        if self.gone is not None:
            return ResourcePhase.GOING
        if self.broken:
            return ResourcePhase.BROKEN
        return ResourcePhase.COMING if now < self.ready else ResourcePhase.READY

    def status(self, now: float) -> ResourceReport:
        owner = (self.burst, self.installation)
        nodes = self.nodes(now)
        return ResourceReport(
            self.key, self.phase(now), self.broken, *owner, self.created, nodes, until=self.until
        )


@dataclass
class MemoryCloud:
    """All that there is at a provider, for all of its users."""

    now: Callable[[], float]
    coming: float = 5.0
    """Seconds until a resource is ready."""
    going: float = 5.0
    """Seconds until a deleted one is gone."""
    lag: float = 0.0
    """How old listings are, in seconds."""
    capacity: dict[str, int] = field(default_factory=dict)
    """How many nodes of a machine there may be; not limited where it is not named."""
    partial: int | None = None
    """How many nodes of a resource made from now on come: it is broken then. None: all."""
    lies: float = 0.0
    """For how many seconds what is deleted from now on is there, and listed, though reported as gone."""
    broken: dict[str, str] = field(default_factory=dict)
    """By kind: why resources made from now on never become ready."""
    broker_problem: str = ""
    """What brokers write about why they have not joined."""
    faults: dict[str, deque[Fault]] = field(default_factory=dict)
    """By call: what happens to the next ones."""
    calls: list[str] = field(default_factory=list)
    """Every call so far."""
    _made: list[_Made] = field(default_factory=list)

    def fail(self, call: str, *faults: Fault) -> None:
        """Have the next calls of a kind fail, one each."""
        self.faults.setdefault(call, deque()).extend(faults)

    def there(self) -> list[ResourceReport]:
        """Return all that is there now, without any lag."""
        now = self.now()
        return [each.status(now) for each in self._made if each.is_there(now)]

    def bill(self) -> int:
        """Return what everything has cost until now, in micro-units."""
        now = self.now()
        return sum(each.bill(now) for each in self._made)

    def take_away(self, name: str) -> None:
        """Take a resource away."""
        for each in self._made:
            if each.key.name == name and each.gone is None:
                each.gone = self.now()

    def take_nodes(self, name: str, number: int) -> None:
        """Take some nodes of a resource away, as spot machines are."""
        for each in self._made:
            if each.key.name == name and each.is_there(self.now()):
                left = [index for index, end in enumerate(each.ends) if end is None]
                for index in left[-number:]:
                    each.ends[index] = self.now()

    def find(self, key: ResourceKey) -> _Made | None:
        """Return the resource that has a name now."""
        now = self.now()
        named = (each for each in self._made if each.key[:2] == key[:2] and each.is_there(now))
        return next((each for each in named if each.hidden is None or now < each.hidden), None)

    def add(self, key: ResourceKey, wanted: WantedBurst, price: int, fee: int = 0) -> None:
        """Make a resource; the fee is that of one with nodes. Raises NoCapacity."""
        taken = sum(each.nodes or 0 for each in self.there())
        if key.nodes and taken + key.nodes > self.capacity.get(wanted.machine, taken + key.nodes):
            raise NoCapacity(f"there are no {key.nodes} nodes of {wanted.machine} now")
        now, broken = self.now(), self.broken.get(key.kind, "")
        came = key.nodes if self.partial is None else min(key.nodes, self.partial)
        if came < key.nodes:
            broken = f"{came} of {key.nodes} nodes came: there are no more"
        owner = (wanted.label, wanted.installation)
        prices = (price, fee) if key.nodes else (0, 0)
        made = _Made(key, *owner, *prices, now, now + self.coming, broken, until=wanted.until)
        made.ends = [None] * came
        self._made.append(made)

    def remove(self, key: ResourceKey) -> None:
        """Begin to delete a resource."""
        found = self.find(key)
        if found is not None and found.gone is None:
            found.gone = self.now() + self.going + self.lies
            found.hidden = self.now() + self.going

    def listed(self, installation: str) -> Iterator[ResourceReport]:
        """Yield what a listing has: all as it was some time ago."""
        then = self.now() - self.lag
        for each in self._made:
            if each.installation == installation and each.is_there(then):
                yield each.status(then)


class MemoryProvider:
    """A user of such a cloud."""

    def __init__(self, cloud: MemoryCloud, offers: Sequence[Offer], name: str = "memory") -> None:
        self.name = name
        self.location = f"{name}-1"
        self.cloud = cloud
        self._offers = tuple(offers)

    def offers(self) -> Sequence[Offer]:
        """Return the machines that it has."""
        return self._offers

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return machines, and what runs on them."""
        name = f"{PREFIX}{wanted.label}"
        return (ResourceKey(NODES, name, wanted.nodes), ResourceKey(PODS, f"{name}-pods"))

    def create(self, key: ResourceKey, _token: str, wanted: WantedBurst) -> None:
        """Make a resource, unless it is there."""
        with self._call("create"):
            found = self.cloud.find(key)
            if found is not None and (found.burst, found.installation) != (wanted.label, wanted.installation):
                raise NameTaken(f"{key.kind} {key.name} is there, and not of this burst")
            sold = [
                each for each in self.offers() if (each.machine, each.spot) == (wanted.machine, wanted.spot)
            ]
            if found is None:
                self.cloud.add(key, wanted, *((sold[0].price, sold[0].fee) if sold else (0, 0)))

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return the status of a resource."""
        with self._call("get"):
            found = self.cloud.find(key)
            if found is None or (found.burst, found.installation) != (wanted.label, wanted.installation):
                return ResourceReport(key, ResourcePhase.ABSENT)
            return found.status(self.cloud.now())

    def delete(self, key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete a resource."""
        with self._call("delete"):
            found = self.cloud.find(key)
            if found is not None and (found.burst, found.installation) == (wanted.label, wanted.installation):
                self.cloud.remove(key)

    def broker_problem(self, wanted: WantedBurst) -> str:  # noqa: ARG002 - all say the same
        """Return what brokers say there."""
        with self._call("broker_problem"):
            return self.cloud.broker_problem

    def problems(self) -> Sequence[str]:
        """Return nothing: it has neither credentials nor a way to go."""
        return ()

    def tunnel_problems(self) -> Sequence[str]:
        """Return nothing, either."""
        return ()

    def owned(self, installation: str) -> list[ResourceReport]:
        """List everything that an installation has made."""
        with self._call("list"):
            return list(self.cloud.listed(installation))

    def _call(self, name: str) -> _Call:
        self.cloud.calls.append(name)
        waiting = self.cloud.faults.get(name)
        return _Call(waiting.popleft() if waiting else None)


class _Call:
    """A call under way, which may fail before or after it takes effect."""

    def __init__(self, fault: Fault | None) -> None:
        self._fault = fault

    def __enter__(self) -> None:
        if self._fault is not None and not self._fault.takes_effect:
            raise self._fault.error

    def __exit__(self, *raised: object) -> None:
        if self._fault is not None and self._fault.takes_effect and raised[0] is None:
            raise self._fault.error
