"""What there is at a cloud: machines in groups, a clock, a bill, and faults that are ordered beforehand.

A group is what the cloud makes at once: a node pool, a node group, or the instances of one order. Times are
in seconds of the clock, money in micro-units.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from burst.planning import money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class CloudFault(Enum):
    """What may happen to a call, or to what it begins."""

    UNAVAILABLE = "unavailable"
    """It is not served: an error of the server, 5xx."""
    THROTTLED = "throttled"
    """It is not served: too many calls, 429, with the seconds to wait where the cloud names them."""
    DENIED = "denied"
    """It is not served: credentials have expired, or lack a right."""
    QUOTA = "quota"
    """It is not served: the account may not have more."""
    NO_CAPACITY = "no-capacity"
    """No machine comes; the group is there, broken."""
    PART = "part"
    """Half of the machines come, and cost money; the group is there, broken."""
    BROKEN = "broken"
    """All machines come, and cost money; the group never becomes ready."""
    ANSWER_LOST = "answer-lost"
    """It is served, and the connection ends without an answer."""
    FAILS = "fails"
    """A deletion begins, and fails after a while: everything is there as before."""
    HANGS = "hangs"
    """A deletion begins, and takes an hour: machines cost money meanwhile."""
    LIES = "lies"
    """A deletion is reported as done; machines are there for an hour, and are listed."""


@dataclass(frozen=True, slots=True)
class FaultOrder:
    """A fault of the next call of a name that has none."""

    fault: CloudFault
    after: float = 0.0
    """Seconds that the cloud asks to wait."""


@dataclass(slots=True)
class CloudMachine:
    """One machine, from when it costs money until it does not."""

    name: str
    group: str
    kind: str
    """Its type, by which it has a price."""
    price: int
    """For an hour."""
    started: float
    labels: Mapping[str, str]
    is_spot: bool = False
    ended: float | None = None
    """When it is gone, which may be later than now."""
    deleted: float | None = None
    """When the deletion of this machine alone began."""
    fails: float | None = None
    """When that deletion fails."""

    def is_there(self, now: float) -> bool:
        """Return whether it is there, and costs money."""
        return self.started <= now and (self.ended is None or now < self.ended)

    def is_going(self, now: float) -> bool:
        """Return whether it is being deleted by itself, and does not lie about it."""
        return self.deleted is not None and (self.fails is None or now < self.fails)


@dataclass(slots=True)
class CloudGroup:
    """What was made at once."""

    name: str
    parent: str
    """Where names are unique: a cluster, a zone."""
    kind: str
    size: int
    created: float
    ready: float
    labels: Mapping[str, str]
    detail: Mapping[str, object] = field(default_factory=dict)
    """What was asked for, in the cloud's own words."""
    fee: int = 0
    """For an hour, besides its machines."""
    problem: str = ""
    """Why it never becomes ready."""
    deleted: float | None = None
    """When its deletion began."""
    gone: float | None = None
    """When it is not there any more, which may be later than now."""
    fails: float | None = None
    """When its deletion fails."""

    def is_there(self, now: float) -> bool:
        """Return whether it has its name."""
        return self.created <= now and (self.gone is None or now < self.gone)

    def is_going(self, now: float) -> bool:
        """Return whether it is being deleted."""
        return self.deleted is not None and (self.fails is None or now < self.fails)

    def is_ready(self, now: float) -> bool:
        """Return whether its machines can be used."""
        return not self.problem and now >= self.ready


class CloudCapacityError(Exception):
    """An account may not have so many machines; the message has the numbers."""


HOUR = 3600.0
CLUSTER = "cluster"
"""The kind of a group that is a cluster."""
_NEVER_READY = {CloudFault.NO_CAPACITY, CloudFault.PART, CloudFault.BROKEN}


@dataclass
class RehearsedCloud:
    """One cloud, for all of its accounts."""

    now: Callable[[], float]
    prices: Mapping[str, int]
    """Of an hour, by type of machine: what it sells."""
    spot_prices: Mapping[str, int] = field(default_factory=dict)
    coming: float = 90.0
    """Seconds until a group is ready; its machines cost money from the start."""
    going: float = 60.0
    """Seconds until a deleted group, with its machines, is gone."""
    lag: float = 0.0
    """How old listings are, in seconds."""
    capacity: dict[str, int] = field(default_factory=dict)
    """How many machines of a type there are at most; not limited where it is not named."""
    quota: int | None = None
    """How many machines the account may have."""
    fee: int = 0
    """Of an hour of a cluster."""
    faults: dict[str, deque[FaultOrder]] = field(default_factory=dict)
    """By call: what happens to the next ones."""
    calls: list[str] = field(default_factory=list)
    """Every call so far, by name."""
    numbered: dict[tuple[str, int], FaultOrder] = field(default_factory=dict)
    """By call and its number, the first one is 1: what happens to it."""
    groups: list[CloudGroup] = field(default_factory=list)
    machines: list[CloudMachine] = field(default_factory=list)
    started: Callable[[CloudMachine], None] = lambda _machine: None
    """Called with each machine that starts: what is sold may really be started."""
    ended: Callable[[CloudMachine], None] = lambda _machine: None
    """Called with each machine whose end is decided; its `ended` says when."""

    def order(self, call: str, *faults: CloudFault, after: float = 0.0) -> None:
        """Have the next calls of a name meet faults, one each."""
        self.faults.setdefault(call, deque()).extend(FaultOrder(each, after) for each in faults)

    def order_number(self, call: str, number: int, fault: CloudFault, after: float = 0.0) -> None:
        """Have one call of a name meet a fault."""
        self.numbered[call, number] = FaultOrder(fault, after)

    def called(self, call: str) -> FaultOrder | None:
        """Note a call; return what happens to it."""
        self.calls.append(call)
        if self.numbered:
            found = self.numbered.pop((call, self.calls.count(call)), None)
            if found is not None:
                return found
        waiting = self.faults.get(call)
        return waiting.popleft() if waiting else None

    def bill(self) -> int:
        """Return what all machines, and clusters, have cost until now."""
        now = self.now()
        spans = [
            *((each.price, each.started, each.ended) for each in self.machines),
            *((each.fee, each.created, each.gone) for each in self.groups),
        ]
        ends = [(price, begun, now if end is None else min(now, end)) for price, begun, end in spans]
        return sum(money.cost(price, 1, max(end - begun, 0.0)) for price, begun, end in ends)

    def there(self) -> list[CloudMachine]:
        """Return the machines that are there now, without any lag."""
        now = self.now()
        return [each for each in self.machines if each.is_there(now)]

    def group(self, parent: str, name: str) -> CloudGroup | None:
        """Return the group that has a name now."""
        now = self.now()
        named = (each for each in self.groups if (each.parent, each.name) == (parent, name))
        return next((each for each in named if each.is_there(now)), None)

    def listed_groups(self, parent: str = "") -> list[CloudGroup]:
        """Return what a listing has: all groups, or those of a parent, as they were some time ago."""
        then = self.now() - self.lag
        return [each for each in self.groups if each.is_there(then) and parent in {"", each.parent}]

    def listed_machines(self, labels: Mapping[str, str]) -> list[CloudMachine]:
        """Return the machines with all of these labels, as they were some time ago."""
        then = self.now() - self.lag
        wanted = labels.items()
        return [each for each in self.machines if each.is_there(then) and wanted <= each.labels.items()]

    def make(  # noqa: PLR0913 - what a group is
        self,
        parent: str,
        name: str,
        kind: str,
        size: int,
        labels: Mapping[str, str],
        *,
        is_spot: bool = False,
        fault: CloudFault | None = None,
        detail: Mapping[str, object] | None = None,
        names: Sequence[str] = (),
    ) -> CloudGroup:
        """Make a group with its machines, by these names or numbered ones.

        Raises CloudCapacityError: then nothing is made.
        """
        taken = self.there()
        if self.quota is not None and len(taken) + size > self.quota:
            raise CloudCapacityError(f"{len(taken)} machines of {self.quota} are used, {size} are asked for")
        now = self.now()
        group = CloudGroup(name, parent, kind, size, now, now + self.coming, dict(labels), detail or {})
        left = self.capacity.get(kind, size + len(taken)) - sum(each.kind == kind for each in taken)
        count = min(size, max(left, 0))
        if fault is CloudFault.NO_CAPACITY:
            count = 0
        elif fault is CloudFault.PART:
            count = min(count, size // 2)
        if count < size:
            group.problem = f"{count} of {size} machines of type {kind} came: there are no more"
        elif fault is CloudFault.BROKEN:
            group.problem = "its machines never became ready"
        self.groups.append(group)
        price = (self.spot_prices if is_spot else self.prices)[kind]
        called = names or [f"{name}-{number}" for number in range(size)]
        for each in called[:count]:
            machine = CloudMachine(each, name, kind, price, now, dict(labels), is_spot)
            self.machines.append(machine)
            self.started(machine)
        return group

    def make_cluster(
        self,
        parent: str,
        name: str,
        labels: Mapping[str, str],
        detail: Mapping[str, object],
        fault: CloudFault | None = None,
    ) -> CloudGroup:
        """Make a cluster, which has no machines of its own, and costs its fee from now on."""
        now = self.now()
        made = CloudGroup(
            name, parent, CLUSTER, 0, now, now + self.coming, dict(labels), detail, fee=self.fee
        )
        if fault in _NEVER_READY:
            made.problem = "its control plane never became ready"
        self.groups.append(made)
        return made

    def delete(self, group: CloudGroup, fault: CloudFault | None = None) -> None:
        """Begin to delete a group; once more does not make it faster."""
        now = self.now()
        if group.is_going(now):
            return
        group.deleted = now
        group.fails = now + self.going if fault is CloudFault.FAILS else None
        if group.fails is not None:
            return
        takes = HOUR if fault is CloudFault.HANGS else self.going
        group.gone = now if fault is CloudFault.LIES else now + takes
        self._end(self._of(group), now + (HOUR if fault is CloudFault.LIES else takes))

    def delete_machine(self, machine: CloudMachine, fault: CloudFault | None = None) -> float:
        """Begin to delete one machine; return when the cloud reports that as done, or as failed."""
        now = self.now()
        if machine.is_going(now) and machine.ended is not None:
            return machine.ended
        if fault is CloudFault.LIES:
            self._end([machine], now + HOUR)
            return now
        machine.deleted = now
        machine.fails = now + self.going if fault is CloudFault.FAILS else None
        if machine.fails is not None:
            return machine.fails
        self._end([machine], now + (HOUR if fault is CloudFault.HANGS else self.going))
        return machine.ended or now

    def end(self, machines: Iterable[CloudMachine], at: float | None = None) -> None:
        """End machines at a time, now by default: as spot ones are taken, or those whose time is over."""
        self._end(machines, self.now() if at is None else at)

    def _of(self, group: CloudGroup) -> list[CloudMachine]:
        return [each for each in self.machines if each.group == group.name and each.started >= group.created]

    def _end(self, machines: Iterable[CloudMachine], at: float) -> None:
        for each in machines:
            if each.ended is None or at < each.ended:
                each.ended = at
                self.ended(each)
