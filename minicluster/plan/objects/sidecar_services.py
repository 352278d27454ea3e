"""Services for the ports of sidecars and of the services pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.constants import Component
from minicluster.plan.objects import names
from minicluster.plan.objects.labels import component_pods, metadata

if TYPE_CHECKING:
    from minicluster.document import Container, MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site


def build(cluster: MiniCluster, site: Site) -> tuple[Object, ...]:
    """Return a Service for each container with ports, except the runner, which has host names."""
    placed = [(container, Component.BROKER) for container in document.sidecars(cluster.spec)]
    placed += [(container, Component.SERVICES) for container in cluster.spec.services]
    return tuple(
        _service(cluster, site, container, component) for container, component in placed if container.ports
    )


def _service(cluster: MiniCluster, site: Site, container: Container, component: Component) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(cluster, site, names.sidecar_service(cluster, container.name), component),
        "spec": {
            "selector": component_pods(cluster, component),
            "ports": [
                {"name": f"port-{port}", "port": port, "targetPort": port, "protocol": "TCP"}
                for port in container.ports
            ],
        },
    }
