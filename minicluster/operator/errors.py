"""The errors of this package. Those of KubernetesError end an operator; the kubelet starts it again.

KubernetesError
└── WatchLostError        MiniClusters cannot be watched any more

PlanningError             one document was not planned
├── PlanningLimitError    that took more time or memory than a document may
└── WorkerLostError       there is no process that plans heavy documents, for now
"""

from __future__ import annotations

from minicluster.kube_client.errors import KubernetesError


class WatchLostError(KubernetesError):
    """MiniClusters cannot be watched any more, such as when their CRD was deleted."""


class PlanningError(Exception):
    """A document was not planned."""


class PlanningLimitError(PlanningError):
    """Planning a document took more time or memory than it may; the message states which, and how much."""


class WorkerLostError(PlanningError):
    """There is no process for heavy documents: it did not start, or ended while none was planned."""
