"""By what the operator knows objects, and what it keeps of them between two reconciles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from minicluster.plan import ObjectKey

if TYPE_CHECKING:
    from minicluster.plan import BrokerReport, Disruption, PodReport
    from minicluster.plan.fields import Object


class Name(NamedTuple):
    """Which MiniCluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Place(NamedTuple):
    """Where an object is: its kind, namespace and name."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> ObjectKey:
        """Return the key within the namespace."""
        return ObjectKey(self.kind, self.name)


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


class Lead(NamedTuple):
    """A lead broker that runs: its MiniCluster's UID, its pod's, and where its door is."""

    uid: str
    pod: str
    address: str


class Creating(NamedTuple):
    """A broker pod that has a node, and does not come up yet."""

    name: str
    uid: str


class Complaint(NamedTuple):
    """What a kubelet complains of: the pod's UID, and an Event's reason and message."""

    pod: str
    reason: str
    message: str


class Heard(NamedTuple):
    """What a lead broker reports, or why it is not heard."""

    report: BrokerReport | None
    silence: str = ""


def name_of(item: Object) -> Name:
    """Return which MiniCluster an object is."""
    return Name(item["metadata"]["namespace"], item["metadata"]["name"])
