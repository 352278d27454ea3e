"""The cluster of a burst: what is asked for, with its nodes, and what GKE's answer about it means. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.joining.workers import labels_of
from burst.providers.gke import reports
from burst.providers.gke.node_pool import node_pool
from burst.providers.google import instances
from burst.providers.node_pools.clusters import cluster_key

if TYPE_CHECKING:
    from burst.lifecycle.records import ResourceKey
    from burst.providers.gke.reports import FoundPool
    from burst.providers.gke.settings import GkeClusterCreation, GkeSettings
    from burst.providers.google.settings import GoogleMachine
    from burst.providers.provider import WantedBurst

CHANNEL = "REGULAR"
_WHOLE = {"RUNNING", "RECONCILING"}
"""Of a cluster: what is wrong then is its pool's."""


def key_of(label: str, nodes: int) -> ResourceKey:
    """Return the key of a burst's cluster, with its nodes: GKE makes and deletes them together."""
    return cluster_key(label)._replace(nodes=nodes)


def cluster_of(
    settings: GkeSettings,
    creation: GkeClusterCreation,
    machine: GoogleMachine,
    wanted: WantedBurst,
    now: float,
) -> dict[str, Any]:
    """Return the cluster that is asked for. Raises CallInvalid if it is too late."""
    ranges = {
        "cluster_secondary_range_name": creation.pods_range,
        "services_secondary_range_name": creation.services_range,
    }
    found: dict[str, Any] = {
        "name": cluster_key(wanted.label).name,
        "resource_labels": labels_of(wanted),
        "network": creation.network,
        "subnetwork": creation.subnetwork,
        "locations": [settings.node_zone],
        "ip_allocation_policy": {
            "use_ip_aliases": True,
            **{key: name for key, name in ranges.items() if name},
        },
        "release_channel": {"channel": CHANNEL},
        "node_pools": [node_pool(settings, machine, wanted, now, in_channel=True)],
    }
    if creation.version:
        found["initial_cluster_version"] = creation.version
    if creation.private_nodes:
        found["private_cluster_config"] = {"enable_private_nodes": True}
    if settings.control_plane == "dns":
        found["control_plane_endpoints_config"] = {"dns_endpoint_config": {"allow_external_traffic": True}}
    return found


def as_pool(found: Any) -> FoundPool:
    """Return a cluster as the pool that it has: it is as well as both of them."""
    pools = [reports.read(each) for each in found.node_pools]
    status, problems = found.status.name, [(each.code.name, each.message) for each in found.conditions]
    message = found.status_message
    for each in pools:
        problems += each.problems
        message = message or each.message
        if status in _WHOLE:
            status = each.status
    return reports.FoundPool(
        name=found.name,
        status="ERROR" if status == "DEGRADED" else status,
        size=sum(each.size for each in pools),
        labels=dict(found.resource_labels),
        problems=tuple(problems),
        message=message,
        created=instances.seconds(found.create_time),
    )
