"""What is wrong with a project before a cluster is made there for a burst: found by reading alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.providers.gke.preflight import region_problems
from burst.providers.google import rights
from burst.providers.google.api_errors import or_absent
from burst.providers.google.credentials import TIMEOUT
from burst.providers.google.problems import problems_of
from burst.providers.kubernetes.preflight import OLDEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.providers.gke.settings import GkeClusterCreation, GkeSettings
    from burst.providers.google.credentials import GoogleAccount, GoogleClients

_OBJECTS = ("configMaps", "jobs", "networkPolicies", "secrets", "services")
IN_CLUSTER = (
    *(f"container.{kind}.{verb}" for kind in _OBJECTS for verb in ("create", "delete", "get", "list")),
    "container.events.list",
    "container.pods.delete",
    "container.pods.exec",
    "container.pods.getLogs",
    "container.pods.list",
)
"""What pods need in a cluster that is made: nobody could give a Role there beforehand."""
CLUSTER_PERMISSIONS = (
    "compute.instances.delete",
    "compute.instances.get",
    "compute.instances.list",
    "compute.machineTypes.get",
    "compute.regions.get",
    "compute.subnetworks.get",
    "container.clusters.create",
    "container.clusters.delete",
    "container.clusters.get",
    "container.clusters.list",
    *IN_CLUSTER,
)
"""All that is needed in the project where each burst has a cluster of its own."""


def problems(account: GoogleAccount, settings: GkeSettings, creation: GkeClusterCreation) -> list[str]:
    """Return every problem in words."""
    return problems_of(account, settings.where, lambda clients: _problems(clients, settings, creation))


def _problems(clients: GoogleClients, settings: GkeSettings, creation: GkeClusterCreation) -> Iterator[str]:
    if lacking := rights.missing(clients, settings.project, CLUSTER_PERMISSIONS):
        yield f"the credentials may not, in project {settings.project}: {', '.join(lacking)}"
    yield from _version(clients, settings, creation.version)
    yield from _subnetwork(clients, settings, creation)
    yield from region_problems(clients, settings)


def _version(clients: GoogleClients, settings: GkeSettings, version: str) -> Iterator[str]:
    """Yield that clusters of a version cannot be made, or are not tested."""
    if not version:
        return
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        yield f"Kubernetes {version} (cluster.create.version) is older than {oldest}, the oldest tested"
    request = {"name": settings.parent}
    found = clients.clusters.get_server_config(request=request, retry=None, timeout=TIMEOUT)
    valid = found.valid_master_versions
    if not any(each == version or each.startswith((f"{version}.", f"{version}-")) for each in valid):
        minors = sorted({".".join(each.split(".")[:2]) for each in valid})
        yield (
            f"GKE makes no clusters of version {version} (cluster.create.version) in {settings.location}, but"
            f" of {', '.join(minors)}"
        )


def _subnetwork(clients: GoogleClients, settings: GkeSettings, creation: GkeClusterCreation) -> Iterator[str]:
    """Yield what is wrong with the subnetwork; one of a shared VPC is another project's to read."""
    name = creation.subnetwork
    if "/" in name:
        return
    service = clients.compute("Subnetworks")
    request = {"project": settings.project, "region": settings.region, "subnetwork": name}
    found = or_absent(lambda: service.get(request=request, retry=None, timeout=TIMEOUT))
    if found is None:
        yield f"project {settings.project} has no subnetwork {name} in region {settings.region}"
        return
    network = found.network.rpartition("/")[2]
    if network and network != creation.network.rpartition("/")[2]:
        yield f"subnetwork {name} is in network {network}, and not in {creation.network}"
    known = {each.range_name for each in found.secondary_ip_ranges}
    for setting, wanted in (("podsRange", creation.pods_range), ("servicesRange", creation.services_range)):
        if wanted and wanted not in known:
            there = ", ".join(sorted(known)) or "none"
            yield f"subnetwork {name} has no secondary range {wanted} (cluster.create.{setting}), but {there}"
