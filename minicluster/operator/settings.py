"""What the operator is told when it is started: one frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.kube_client.access import Access
    from minicluster.kube_client.logs import LogFormat, LogLevel


LEASE = "minicluster-operator"
"""The Lease by which operators agree on who leads, where no other is named."""
INSTALLED = "minicluster-system"
"""The namespace into which the shipped manifests install the operator."""


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """How one operator runs.

    `namespaces` are those whose MiniClusters it looks after, none: all. `lease` is the namespace and name of
    the Lease that its leader holds, None: it leads without asking (then there may be no second one).
    `listen` is the address (empty: every one) and port of /healthz, /readyz and /metrics; port 0 takes a free
    one. `identity` tells this process from every other operator: it stands in the Lease. `own_namespace` is
    the one that its pod runs in, empty outside of the cluster: only from there NetworkPolicies admit it to
    the brokers' door.
    """

    access: Access
    namespaces: tuple[str, ...]
    lease: tuple[str, str] | None
    listen: tuple[str, int]
    log_format: LogFormat
    log_level: LogLevel
    identity: str
    own_namespace: str = ""
