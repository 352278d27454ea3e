"""The names of a MiniCluster's objects. No two MiniClusters of a namespace can share one of them.

(Except the headless Service, whose name the document may choose: `plan()` refuses one that is taken.)
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from minicluster import document

if TYPE_CHECKING:
    from minicluster.document import MiniCluster

MAX_SERVICE_NAME = 63


FLUX_FILES = "minicluster-flux-files"
"""The ConfigMap that all MiniClusters of a namespace share; no MiniCluster's own ends in `-files`."""


def config_map(cluster: MiniCluster) -> str:
    """Return the ConfigMap's name."""
    return f"{cluster.metadata.name}-config"


def curve_secret(cluster: MiniCluster) -> str:
    """Return the Secret's name. It has the UID, so an existing Secret is this MiniCluster's own."""
    return _with_uid(cluster, "curve")


def token_secret(cluster: MiniCluster) -> str:
    """Return the second Secret's name, which has the UID as well."""
    return _with_uid(cluster, "tokens")


def _with_uid(cluster: MiniCluster, what: str) -> str:
    uid = cluster.metadata.uid.replace("-", "")[:12]
    return f"{cluster.metadata.name}-{what}" + (f"-{uid}" if uid else "")


def job(cluster: MiniCluster) -> str:
    """Return the Job's name; Kubernetes makes the host names `<job>-<index>` of it."""
    return cluster.metadata.name


def services_pod(cluster: MiniCluster) -> str:
    """Return the name, and host name, of the pod in which the services run."""
    return f"{cluster.metadata.name}-services"


def sidecar_service(cluster: MiniCluster, container: str) -> str:
    """Return the name of the Service for a container's ports.

    MiniCluster `a` with container `b-c` and MiniCluster `a-b` with container `c` must differ: hence the hash.
    """
    whole = f"{cluster.metadata.name}/{container}"
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    readable = f"{cluster.metadata.name}-{container}"[: MAX_SERVICE_NAME - len(digest) - 1].rstrip("-")
    return f"{readable}-{digest}"


def disruption_budget(cluster: MiniCluster) -> str:
    """Return the PodDisruptionBudget's name."""
    return f"{cluster.metadata.name}-lead"


def autoscaler(cluster: MiniCluster) -> str:
    """Return the HorizontalPodAutoscaler's name, the one that users expect and would choose themselves."""
    return cluster.metadata.name


def broker_policy(cluster: MiniCluster) -> str:
    """Return the name of the broker pods' NetworkPolicy."""
    return f"{cluster.metadata.name}-brokers"


def services_policy(cluster: MiniCluster) -> str:
    """Return the name of the services pod's NetworkPolicy."""
    return f"{cluster.metadata.name}-services"


def lead_hosts(cluster: MiniCluster) -> tuple[str, ...]:
    """Return the DNS names under which the lead broker's pod is found in the cluster."""
    service = f"{document.headless_name(cluster)}.{cluster.metadata.namespace}.svc"
    return tuple(
        f"{host(cluster, 0)}.{each}" for each in (service, f"{service}.{cluster.spec.network.domain}")
    )


def host(cluster: MiniCluster, rank: int) -> str:
    """Return the host name of a broker."""
    return f"{cluster.metadata.name}-{rank}"
