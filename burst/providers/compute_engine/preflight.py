"""What is wrong with a project before instances are made there: found by reading, nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.providers.google import rights
from burst.providers.google.api_errors import or_absent
from burst.providers.google.credentials import TIMEOUT
from burst.providers.google.problems import problems_of
from burst.providers.google.regions import Region, machine_problems, quota_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.providers.compute_engine.settings import ComputeEngineSettings
    from burst.providers.google.credentials import GoogleAccount, GoogleClients

PERMISSIONS = (
    "compute.disks.create",
    "compute.images.get",
    "compute.images.getFromFamily",
    "compute.images.useReadOnly",
    "compute.instances.create",
    "compute.instances.delete",
    "compute.instances.get",
    "compute.instances.getSerialPortOutput",
    "compute.instances.list",
    "compute.instances.setLabels",
    "compute.instances.setMetadata",
    "compute.instances.setTags",
    "compute.machineTypes.get",
    "compute.regionOperations.list",
    "compute.regions.get",
    "compute.subnetworks.get",
    "compute.subnetworks.use",
    "compute.zoneOperations.list",
)
"""All that bursts need in the project."""
EXTERNAL_ADDRESS, SERVICE_ACCOUNT = "compute.subnetworks.useExternalIp", "compute.instances.setServiceAccount"
"""What `externalAddress` and `instanceServiceAccount` need besides."""


def problems(account: GoogleAccount, settings: ComputeEngineSettings, location: str) -> list[str]:
    """Return every problem in words."""
    return problems_of(account, location, lambda clients: _problems(clients, settings))


def _problems(clients: GoogleClients, settings: ComputeEngineSettings) -> Iterator[str]:
    if lacking := rights.missing(clients, settings.project, _wanted(settings)):
        yield f"the credentials may not, in project {settings.project}: {', '.join(lacking)}"
    region = Region.read(clients, settings.project, settings.region)
    if region is None:
        yield f"project {settings.project} has no region {settings.region}"
        return
    for each in settings.zones:
        if each not in region.zones:
            yield f"region {settings.region} has no zone {each}, but {', '.join(region.zones)}"
    yield from quota_problems(region)
    for machine in settings.machines:
        zones = settings.zones or region.zones
        yield from machine_problems(clients, settings.project, region, machine, zones)
    yield from _image(clients, settings)
    yield from _subnetwork(clients, settings)


def _wanted(settings: ComputeEngineSettings) -> list[str]:
    """Return the rights that are needed in this project: those on what is another project's are there."""
    own = f"projects/{settings.project}/"
    found = [*PERMISSIONS]
    found += [EXTERNAL_ADDRESS] if settings.external_address else []
    found += [SERVICE_ACCOUNT] if settings.instance_service_account else []
    others = [] if settings.image_path.startswith(own) else ["compute.images."]
    if settings.subnetwork_path and not settings.subnetwork_path.startswith(own):
        others.append("compute.subnetworks.")
    return [each for each in found if not each.startswith(tuple(others))]


def _image(clients: GoogleClients, settings: ComputeEngineSettings) -> Iterator[str]:
    _, project, _, _, *family, name = settings.image_path.split("/")
    images = clients.compute("Images")

    def read() -> Any:
        if family:
            request = {"project": project, "family": name}
            return images.get_from_family(request=request, retry=None, timeout=TIMEOUT)
        return images.get(request={"project": project, "image": name}, retry=None, timeout=TIMEOUT)

    if or_absent(read) is None:
        yield f"project {project} has no image{' family' if family else ''} {name}"


def _subnetwork(clients: GoogleClients, settings: ComputeEngineSettings) -> Iterator[str]:
    path = settings.subnetwork_path
    if not path:
        return
    _, project, _, where, _, name = path.split("/")
    request = {"project": project, "region": where, "subnetwork": name}
    service = clients.compute("Subnetworks")
    if or_absent(lambda: service.get(request=request, retry=None, timeout=TIMEOUT)) is None:
        yield f"project {project} has no subnetwork {name} in region {where}"
