"""Node pools of a rehearsed cloud without an interface of its own: for providers that have no fake.

Calls are named `nodes.create`, `nodes.get`, `nodes.delete` and `nodes.list`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.errors import AccessDenied, AccountLimitReached, NameTaken, RetryLater
from burst.joining.workers import ends_of
from burst.lifecycle.records import ResourcePhase, ResourceReport
from burst.providers.node_pools.pools import pool_key
from burst.rehearsal.cloud import CloudCapacityError, CloudFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from burst.planning.records import Offer
    from burst.providers.provider import WantedBurst
    from burst.rehearsal.cloud import CloudGroup, FaultOrder, RehearsedCloud

BURST, OWNER = "minicluster-burst", "minicluster-owner"


class PlainPools:
    """See `burst.providers.node_pools.pools.NodePools`."""

    kind = "nodes"

    def __init__(self, cloud: RehearsedCloud, offers: Sequence[Offer], name: str) -> None:
        self.name = name
        self.location = f"rehearsal of {name}"
        self.cloud = cloud
        self._offers = tuple(offers)

    def offers(self) -> Sequence[Offer]:
        """Return the machines that it has."""
        return self._offers

    def create(self, wanted: WantedBurst, _token: str) -> None:
        """Make a burst's nodes, unless they are there."""
        fault = self._called("nodes.create")
        labels = {BURST: wanted.label, OWNER: wanted.installation}
        name = pool_key(self.kind, wanted.label, wanted.nodes).name
        found = self.cloud.group("", name)
        if found is not None and found.labels != labels:
            raise NameTaken(f"{self.kind} {name} is there, and not of this burst")
        if fault is CloudFault.QUOTA:
            raise AccountLimitReached("the account may not have more machines")
        if found is None:
            try:
                self.cloud.make(
                    "", name, wanted.machine, wanted.nodes, labels, is_spot=wanted.spot, fault=fault
                )
            except CloudCapacityError as error:
                raise AccountLimitReached(str(error)) from error
        _answer(fault)

    def get(self, wanted: WantedBurst) -> ResourceReport:
        """Return the status of a burst's nodes."""
        fault = self._called("nodes.get")
        key = pool_key(self.kind, wanted.label, wanted.nodes)
        found = self.cloud.group("", key.name)
        _answer(fault)
        if found is None or found.labels != {BURST: wanted.label, OWNER: wanted.installation}:
            return ResourceReport(key, ResourcePhase.ABSENT)
        return self._report(found, self.cloud.now())

    def delete(self, wanted: WantedBurst) -> None:
        """Begin to delete a burst's nodes."""
        fault = self._called("nodes.delete")
        found = self.cloud.group("", pool_key(self.kind, wanted.label, wanted.nodes).name)
        if found is not None and found.labels == {BURST: wanted.label, OWNER: wanted.installation}:
            self.cloud.delete(found, fault)
        _answer(fault)

    def owned(self, installation: str) -> list[ResourceReport]:
        """List all that an installation has made, also machines whose group is gone."""
        _answer(self._called("nodes.list"))
        then = self.cloud.now() - self.cloud.lag
        groups = [each for each in self.cloud.listed_groups() if each.labels.get(OWNER) == installation]
        named = {each.name for each in groups}
        found = [self._report(each, then) for each in groups]
        return [*found, *self._left(installation, named)]

    def problems(self) -> Sequence[str]:
        """Return nothing: it has neither credentials nor a way to go."""
        return ()

    def _left(self, installation: str, named: set[str]) -> Iterator[ResourceReport]:
        """Yield machines that are there although their group is gone."""
        left: dict[str, list[Mapping[str, str]]] = {}
        for machine in self.cloud.listed_machines({OWNER: installation}):
            if machine.group not in named:
                left.setdefault(machine.group, []).append(machine.labels)
        for labels in left.values():
            key = pool_key(self.kind, labels[0][BURST], len(labels))
            yield ResourceReport(
                key, ResourcePhase.GOING, "", labels[0][BURST], installation, 0.0, len(labels)
            )

    def _report(self, group: CloudGroup, then: float) -> ResourceReport:
        burst, installation = group.labels[BURST], group.labels[OWNER]
        mine = (each for each in self.cloud.machines if each.group == group.name)
        there = [each for each in mine if each.started >= group.created and each.is_there(then)]
        phase = ResourcePhase.READY if group.is_ready(then) else ResourcePhase.COMING
        if group.is_going(then):
            phase = ResourcePhase.GOING
        elif group.problem:
            phase = ResourcePhase.BROKEN
        elif len(there) < group.size:
            phase = ResourcePhase.BROKEN  # some were taken away
        key = pool_key(self.kind, burst, group.size)
        until = ends_of(group.labels)
        return ResourceReport(
            key, phase, group.problem, burst, installation, group.created, len(there), until
        )

    def _called(self, call: str) -> CloudFault | None:
        """Note a call; return what happens to it. Raises what has it not be served."""
        found: FaultOrder | None = self.cloud.called(call)
        if found is None:
            return None
        if found.fault is CloudFault.UNAVAILABLE:
            raise RetryLater("the service is unavailable")
        if found.fault is CloudFault.THROTTLED:
            raise RetryLater("too many calls", found.after)
        if found.fault is CloudFault.DENIED:
            raise AccessDenied("the credentials have expired")
        return found.fault


def _answer(fault: CloudFault | None) -> None:
    """Raise where the answer is lost."""
    if fault is CloudFault.ANSWER_LOST:
        raise ConnectionResetError("the connection was lost")
