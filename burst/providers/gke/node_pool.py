"""The node pool of a burst: its nodes are for it alone, end by themselves, and are found by their labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from burst.errors import CallInvalid
from burst.joining.workers import LABEL_BURST, labels_of
from burst.providers.google.instances import LABEL_CLUSTER
from burst.providers.node_pools.pools import pool_key

if TYPE_CHECKING:
    from burst.providers.gke.settings import GkeSettings
    from burst.providers.google.settings import GoogleMachine
    from burst.providers.provider import WantedBurst

KIND = "node-pool"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def pool_name(wanted: WantedBurst) -> str:
    """Return the name of a burst's node pool, by which it is made once: GKE has no id of requests."""
    return pool_key(KIND, wanted.label, wanted.nodes).name


def cluster_label(settings: GkeSettings) -> str:
    """Return what machines have that are nodes of the cluster: its location and its name.

    Those of all clusters that are made for bursts have the same: no name of a cluster has an underscore.
    """
    return f"{settings.location}_{settings.cluster.name or 'made_for_bursts'}"


def node_pool(
    settings: GkeSettings, machine: GoogleMachine, wanted: WantedBurst, now: float, *, in_channel: bool
) -> dict[str, Any]:
    """Return the pool that is asked for. Raises CallInvalid if it is too late.

    A cluster in a release channel takes only pools that are upgraded and repaired: `in_channel`.
    """
    seconds = math.ceil(wanted.until - now)
    if seconds < 1:
        raise CallInvalid(f"burst {wanted.label} was to end {-seconds} s ago")
    return {
        "name": pool_name(wanted),
        "initial_node_count": wanted.nodes,
        "locations": [settings.node_zone],
        "autoscaling": {"enabled": False},
        "management": {"auto_repair": in_channel, "auto_upgrade": in_channel},
        "config": _config(settings, machine, wanted, seconds),
    }


def _config(
    settings: GkeSettings, machine: GoogleMachine, wanted: WantedBurst, seconds: int
) -> dict[str, Any]:
    labels = labels_of(wanted)
    return {
        "machine_type": machine.machine,
        "disk_size_gb": settings.disk_gb,
        "disk_type": settings.disk_type,
        "image_type": settings.image_type,
        "service_account": settings.node_service_account,
        "oauth_scopes": [_SCOPE],
        "tags": list(settings.tags),
        "spot": wanted.spot,
        "accelerators": _accelerators(machine),
        "labels": labels,
        "taints": _taints(settings, wanted),
        "resource_labels": {**labels, LABEL_CLUSTER: cluster_label(settings)},
        "max_run_duration": {"seconds": seconds},
    }


def _taints(settings: GkeSettings, wanted: WantedBurst) -> list[dict[str, str]]:
    """Return none where the cluster is the burst's own: GKE's own pods, such as DNS, run there as well."""
    if settings.cluster.create is not None:
        return []
    return [{"key": LABEL_BURST, "value": wanted.label, "effect": "NO_SCHEDULE"}]


def _accelerators(machine: GoogleMachine) -> list[dict[str, Any]]:
    """Return the GPUs of a node: GKE wants those named that belong to a type of machine, too."""
    if not machine.gpus:
        return []
    return [
        {
            "accelerator_count": machine.gpus,
            "accelerator_type": machine.accelerator,
            "gpu_driver_installation_config": {"gpu_driver_version": "DEFAULT"},
        }
    ]
