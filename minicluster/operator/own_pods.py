"""The broker pods of a MiniCluster's own Job: which of them leads, and which does not come up. No I/O."""

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
    """Those of the MiniCluster with this UID, by index."""

    cluster_uid: str
    by_index: Mapping[int, BrokerPod]

    @property
    def lead(self) -> Lead | None:
        """The lead broker, where it runs and is to stay."""
        pod = self.by_index.get(0)
        if pod is None or not pod.stays or not pod.report.address or pod.report.phase != "Running":
            return None
        return Lead(self.cluster_uid, pod.uid, pod.report.address)

    @property
    def pending(self) -> PendingPod | None:
        """The first broker pod that does not come up yet."""
        for _, pod in sorted(self.by_index.items()):
            if pod.creating and pod.stays:
                return PendingPod(pod.name, pod.uid)
        return None
