"""What is wrong with a cluster of GKE before a node pool is made there: found by reading alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.providers.google import rights
from burst.providers.google.api_errors import or_absent
from burst.providers.google.credentials import TIMEOUT
from burst.providers.google.problems import problems_of
from burst.providers.google.regions import Region, machine_problems, quota_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.providers.gke.settings import GkeSettings
    from burst.providers.google.credentials import GoogleAccount, GoogleClients

PERMISSIONS = (
    "compute.instances.delete",
    "compute.instances.get",
    "compute.instances.list",
    "compute.machineTypes.get",
    "compute.regions.get",
    "container.clusters.get",
    "container.clusters.update",
)
"""All that bursts need in the project. Pods need rights in the cluster besides."""
_GOOD = {"RUNNING", "RECONCILING"}


def problems(account: GoogleAccount, settings: GkeSettings, location: str) -> list[str]:
    """Return every problem in words."""
    return problems_of(account, location, lambda clients: _problems(clients, settings))


def _problems(clients: GoogleClients, settings: GkeSettings) -> Iterator[str]:
    if lacking := rights.missing(clients, settings.project, PERMISSIONS):
        yield f"the credentials may not, in project {settings.project}: {', '.join(lacking)}"
    call = clients.clusters.get_cluster
    found = or_absent(lambda: call(request={"name": settings.path}, retry=None, timeout=TIMEOUT))
    if found is None:
        yield f"project {settings.project} has no cluster {settings.cluster.name} in {settings.location}"
        return
    yield from _cluster(found, settings)
    yield from region_problems(clients, settings)


def region_problems(clients: GoogleClients, settings: GkeSettings) -> Iterator[str]:
    """Yield what is wrong with zone, quotas and machines."""
    for machine in settings.machines:
        if machine.gpus and not machine.accelerator:
            yield (
                f"machine {machine.machine} has GPUs, and GKE wants their type:"
                " right would be accelerator: nvidia-l4, for example"
            )
    region = Region.read(clients, settings.project, settings.region)
    if region is None:
        return
    if settings.node_zone not in region.zones:
        yield f"region {settings.region} has no zone {settings.node_zone}, but {', '.join(region.zones)}"
    yield from quota_problems(region)
    for machine in settings.machines:
        yield from machine_problems(clients, settings.project, region, machine, (settings.node_zone,))


def _cluster(found: Any, settings: GkeSettings) -> Iterator[str]:
    if found.status.name not in _GOOD:
        reasons = "; ".join(each.message for each in found.conditions) or found.status_message
        yield f"cluster {settings.cluster.name} is {found.status.name}{f': {reasons}' if reasons else ''}"
    if found.autopilot.enabled:
        yield (
            f"cluster {settings.cluster.name} is an Autopilot cluster, which makes nodes for pods by itself:"
            " right would be a provider of kind kubernetes"
        )
