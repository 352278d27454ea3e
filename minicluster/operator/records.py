"""What the operator keeps of objects between two reconciles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from minicluster.plan import BrokerReport, Disruption, PodReport


@dataclass(frozen=True, slots=True)
class BrokerPod:
    """A broker pod."""

    instance: str
    """The name of the MiniCluster in its label."""
    job_uid: str
    order: tuple[bool, str, int]
    """Of several pods with one index the greatest counts."""
    version: int
    report: PodReport
    name: str
    uid: str
    creating: bool
    disrupted: Disruption | None = None

    @property
    def stays(self) -> bool:
        """Whether it is not being deleted."""
        return self.order[0]


class PendingPod(NamedTuple):
    """A broker pod that has a node, and does not run yet."""

    name: str
    uid: str


class OwnJob(NamedTuple):
    """A MiniCluster's own Job."""

    name: str
    uid: str


class PodWarning(NamedTuple):
    """The last warning Event of a pod, or of a Job about pods that it could not make."""

    uid: str
    """Of the pod, or of the Job."""
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class LeadReport:
    """What a lead broker last reported."""

    report: BrokerReport


@dataclass(frozen=True, slots=True)
class Unreachable:
    """There is no report of a lead broker; `reason` is why, for messages."""

    reason: str
