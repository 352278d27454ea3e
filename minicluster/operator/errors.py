"""What ends an operator, which then begins anew.

KubernetesError
├── FollowingError        MiniClusters cannot be followed any more
├── LeadershipLostError   a write was about to be made by an operator that does not lead (any more)
└── ListenError           the address and port for /healthz and /metrics cannot be had
"""

from __future__ import annotations

from minicluster.kube_client.errors import KubernetesError


class WatchLostError(KubernetesError):
    """MiniClusters cannot be followed any more, such as when their CRD was deleted."""


class LeadershipLostError(KubernetesError):
    """This operator does not lead, or cannot know any more that it does."""


class ListenError(KubernetesError):
    """The address and port for /healthz, /readyz and /metrics cannot be had; says what to do."""
