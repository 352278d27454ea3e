"""What the operator keeps of objects between two reconciles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from minicluster.plan import BrokerReport, Disruption, PodReport


@dataclass(frozen=True, slots=True)
class BrokerPod:
    """A broker pod: whose Job made it, whether it counts before another of its index, what it says."""

    instance: str
    job_uid: str
    order: tuple[bool, str, int]
    version: int
    report: PodReport
    name: str
    uid: str
    creating: bool
    disrupted: Disruption | None = None

    @property
    def stays(self) -> bool:
        """Whether nobody has asked for its deletion."""
        return self.order[0]


class PendingPod(NamedTuple):
    """A broker pod that has a node, and does not come up yet."""

    name: str
    uid: str


class PodWarning(NamedTuple):
    """The last warning Event of a pod: the pod's UID, and the Event's reason and message."""

    pod: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class LeadReport:
    """What a lead broker last reported."""

    report: BrokerReport


@dataclass(frozen=True, slots=True)
class Unreachable:
    """There is no report of a lead broker; `reason` is why, for people."""

    reason: str
