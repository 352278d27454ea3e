"""The broker pods of a MiniCluster's own Job: which one leads, and which one is pending. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.lead_client.broker_pods import Lead
from minicluster.operator.records import PendingPod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.operator.records import BrokerPod


@dataclass(frozen=True, slots=True)
class OwnPods:
    """The pods of the MiniCluster with this UID, by index."""

    cluster_uid: str
    by_index: Mapping[int, BrokerPod]

    @property
    def lead(self) -> Lead | None:
        """Return the lead broker if its pod runs and is not being deleted."""
        pod = self.by_index.get(0)
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
