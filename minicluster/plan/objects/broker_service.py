"""The Service through which brokers find each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.constants import Component
from minicluster.plan.objects.labels import lead_pod, metadata, own_pods

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site


def build(cluster: MiniCluster, site: Site) -> Object:
    """Return a headless Service with a name for every pod; if minimal, a ClusterIP of the lead."""
    spec = _lead_only(cluster) if cluster.spec.flux.minimal_service else _every_pod(cluster)
    # Brokers join before they are ready, and need their names for it: not-ready pods are published as well.
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(cluster, site, document.headless_name(cluster), Component.NETWORK),
        "spec": {
            **spec,
            "publishNotReadyAddresses": True,
            "ports": [
                {"name": name, "port": port, "protocol": "TCP"}
                for name, port in _ports(cluster, site).items()
            ],
        },
    }


def _ports(cluster: MiniCluster, site: Site) -> dict[str, int]:
    """Return the ports by their names. One that leads to the lead alone leads to its API as well.

    Of a headless Service the names count, not the ports.
    """
    broker = cluster.spec.network.port
    minimal = cluster.spec.flux.minimal_service and site.lead_api and site.lead_api_port != broker
    return {"broker": broker, **({"lead-api": site.lead_api_port} if minimal else {})}


def _every_pod(cluster: MiniCluster) -> Object:
    return {"clusterIP": "None", "selector": own_pods(cluster)}


def _lead_only(cluster: MiniCluster) -> Object:
    return {"type": "ClusterIP", "selector": lead_pod(cluster)}
