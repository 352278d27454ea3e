"""The broker pods of a MiniCluster's own Job: which one leads, is pending, or is not made. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.lead_client.broker_pods import Lead
from minicluster.operator.records import OwnJob, PendingPod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.operator.records import BrokerPod
    from minicluster.plan import JobReport

_ENDS = frozenset({"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"})
"""A Job with one of these conditions makes no more pods."""


@dataclass(frozen=True, slots=True)
class OwnPods:
    """The pods of the MiniCluster with this UID, by index."""

    cluster_uid: str
    by_index: Mapping[int, BrokerPod]
    job: OwnJob | None = None
    report: JobReport | None = None
    """What the Job reports."""
    has_lead: bool = True
    """Whether one of them leads; with a `leadBroker` all follow."""

    @property
    def lead(self) -> Lead | None:
        """Return the lead broker if its pod runs and is not being deleted."""
        pod = self.by_index.get(0) if self.has_lead else None
        if pod is None or not pod.stays or not pod.report.address or pod.report.phase != "Running":
            return None
        return Lead(self.cluster_uid, pod.uid, pod.report.address)

    @property
    def pending(self) -> PendingPod | None:
        """Return the first broker pod that has a node and does not run yet."""
        for _, pod in sorted(self.by_index.items()):
            if pod.creating and pod.stays:
                return PendingPod(pod.name, pod.uid)
        return None

    @property
    def lacking(self) -> OwnJob | None:
        """Return the Job where it is to have more pods than it has made."""
        job = self.report
        if self.job is None or job is None or job.suspended:
            return None
        if any(each.type in _ENDS and each.status == "True" for each in job.conditions):
            return None
        made = sum(index < job.parallelism for index in self.by_index)
        return self.job if made < job.parallelism else None

    @property
    def newest(self) -> str:
        """Return when the newest pod was made (RFC 3339, in UTC); empty: there is none."""
        return max((pod.order[1] for pod in self.by_index.values()), default="")
