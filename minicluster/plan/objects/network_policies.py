"""NetworkPolicies: which pods may connect to the MiniCluster's pods. Egress is not restricted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.constants import (
    BURST_APPLICATION,
    LABEL_NAME,
    LABEL_NAMESPACE_NAME,
    METRICS_APPLICATION,
    OPERATOR_APPLICATION,
    REST_APPLICATION,
    Component,
)
from minicluster.plan.objects import names
from minicluster.plan.objects.labels import component_pods, metadata, own_pods

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from minicluster.document import Container, MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site


def build(cluster: MiniCluster, site: Site) -> tuple[Object, ...]:
    """Return the policy of the broker pods, and that of the services pod where there is one."""
    brokers = [_among_own(cluster), *_to_the_lead(cluster, site)]
    ports = _ports(cluster.spec.containers) | _burst_ports(cluster) | _metrics_ports(cluster, site)
    policies = [
        _policy(cluster, site, names.broker_policy(cluster), Component.BROKER, [*brokers, *_open(ports)])
    ]
    if cluster.spec.services:
        rules = [_among_own(cluster), *_open(_ports(cluster.spec.services))]
        policies.append(_policy(cluster, site, names.services_policy(cluster), Component.SERVICES, rules))
    return tuple(policies)


def _policy(
    cluster: MiniCluster, site: Site, name: str, component: Component, ingress: Sequence[Object]
) -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(cluster, site, name, component),
        "spec": {
            "podSelector": {"matchLabels": component_pods(cluster, component)},
            "policyTypes": ["Ingress"],
            "ingress": list(ingress),
        },
    }


def _among_own(cluster: MiniCluster) -> Object:
    # Every port: MPI libraries listen on random ones.
    return {"from": [{"podSelector": {"matchLabels": own_pods(cluster)}}]}


def _to_the_lead(cluster: MiniCluster, site: Site) -> list[Object]:
    """Return the rule for the operator and for services; none for an operator that is no pod.

    Anybody can label a pod as they do, so the namespace is what counts.
    """
    if not site.operator_namespace:
        return []
    applications = [OPERATOR_APPLICATION, METRICS_APPLICATION, REST_APPLICATION]
    if cluster.spec.bursting is not None:
        applications.append(BURST_APPLICATION)
    peer = {
        "namespaceSelector": {"matchLabels": {LABEL_NAMESPACE_NAME: site.operator_namespace}},
        "podSelector": {"matchExpressions": [{"key": LABEL_NAME, "operator": "In", "values": applications}]},
    }
    return [{"from": [peer], "ports": [{"port": site.lead_api_port, "protocol": "TCP"}]}]


def _open(ports: Iterable[int]) -> list[Object]:
    listed = [{"port": port, "protocol": "TCP"} for port in sorted(ports)]
    return [{"ports": listed}] if listed else []


def _ports(containers: Iterable[Container]) -> set[int]:
    return {port for container in containers for port in container.ports}


def _metrics_ports(cluster: MiniCluster, site: Site) -> set[int]:
    """Return the port for metrics, open to all: a Prometheus or the API server needs a certificate."""
    scaling = cluster.spec.autoscaling
    served = scaling is not None and scaling.tls_secret and not document.bursts_out(cluster.spec)
    return {site.lead_api_port} if served else set()


def _burst_ports(cluster: MiniCluster) -> set[int]:
    """Return the ports for remote brokers from outside of the cluster; the certificate admits them.

    Followers connect, and are not connected to. A service that manages bursts opens the port itself, to each
    burst's addresses and for as long as it lasts.
    """
    bursting = cluster.spec.flux.bursting
    joinable = not document.bursts_out(cluster.spec) and cluster.spec.bursting is None
    return {cluster.spec.network.port} if joinable and (bursting.hostlist or bursting.clusters) else set()
