"""What instances and the operation that made them mean for a burst."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from burst.joining.workers import LABEL_BURST, ends_of, name_of
from burst.lifecycle.records import ResourceKey, ResourcePhase, ResourceReport
from burst.providers.google.instances import billed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from burst.providers.google.instances import ListedInstance
    from burst.providers.provider import WantedBurst

KIND = "instances"
"""The one resource that a burst is."""
LISTING_LAG = 60.0
"""Seconds after an order is done for which a listing may lack some of its instances."""


class BulkOperation(NamedTuple):
    """How far an order is."""

    is_done: bool
    ended: float = 0.0
    """When it was done."""
    problems: tuple[tuple[str, str], ...] = ()
    """Code and message of each error: then all that came is deleted again."""
    begun: float = 0.0
    """When it began."""
    zones: tuple[str, ...] = ()
    """Where it makes instances."""

    def is_recent(self, now: float) -> bool:
        """Return whether a listing may lack what it has made."""
        return not self.is_done or now - self.ended < LISTING_LAG


def report(
    key: ResourceKey,
    found: Sequence[ListedInstance],
    operation: BulkOperation | None,
    wanted: WantedBurst,
    now: float,
) -> ResourceReport:
    """Return a burst's status. The operation is not needed where all instances run."""
    owner = (wanted.label, wanted.installation)
    if not found:
        if operation is None or operation.is_done:
            return ResourceReport(key, ResourcePhase.ABSENT, "", *owner, nodes=0)
        reason, coming = "they are being made", ResourcePhase.COMING
        return ResourceReport(key, coming, reason, *owner, operation.begun, nodes=0)
    phase, reason = _phase(key.nodes, found, operation, now)
    return _report(key, found, phase, reason, owner)


def owned(found: Iterable[ListedInstance], installation: str) -> list[ResourceReport]:
    """Return the bursts of which there are instances."""
    bursts: dict[str, list[ListedInstance]] = {}
    for each in found:
        if not each.is_node and LABEL_BURST in each.labels:
            bursts.setdefault(each.labels[LABEL_BURST], []).append(each)
    return [_listed(label, installation, each) for label, each in bursts.items()]


def _listed(label: str, installation: str, found: Sequence[ListedInstance]) -> ResourceReport:
    key = ResourceKey(KIND, name_of(label), len(found))
    phase, reason = _phase(len(found), found, None, 0.0)
    return _report(key, found, phase, reason, (label, installation))


def _report(
    key: ResourceKey,
    found: Sequence[ListedInstance],
    phase: ResourcePhase,
    reason: str,
    owner: tuple[str, str],
) -> ResourceReport:
    since = min(each.created for each in found)
    return ResourceReport(key, phase, reason, *owner, since, billed(found), ends_of(found[0].labels))


def _phase(
    nodes: int, found: Sequence[ListedInstance], operation: BulkOperation | None, now: float
) -> tuple[ResourcePhase, str]:
    running = sum(each.is_running for each in found)
    if running >= nodes:
        return ResourcePhase.READY, ""
    if all(each.is_going for each in found):
        return ResourcePhase.GOING, f"{len(found)} instances are left"
    if operation is not None and operation.problems:
        return ResourcePhase.BROKEN, "; ".join(": ".join(each) for each in operation.problems)
    if lost := [each for each in found if each.is_going or each.has_ended]:
        return ResourcePhase.BROKEN, ", ".join(f"{each.name} is {each.status}" for each in lost)
    if len(found) < nodes and operation is not None and not operation.is_recent(now):
        return ResourcePhase.BROKEN, f"{len(found)} of {nodes} instances are left"
    return ResourcePhase.COMING, f"{running} of {nodes} instances run"
