"""What is wrong with a project before instances are made there: found by reading, nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from burst.errors import ProviderError
from burst.providers.google import rights
from burst.providers.google.api_errors import or_absent
from burst.providers.google.credentials import TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.providers.compute_engine.settings import ComputeEngineSettings
    from burst.providers.google.credentials import GoogleAccount, GoogleClients
    from burst.providers.google.settings import GoogleMachine

PERMISSIONS = (
    "compute.disks.create",
    "compute.images.get",
    "compute.images.getFromFamily",
    "compute.images.useReadOnly",
    "compute.instances.create",
    "compute.instances.delete",
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
EXTERNAL_ADDRESS, ACT_AS = "compute.subnetworks.useExternalIp", "iam.serviceAccounts.actAs"
"""What `externalAddress` and `instanceServiceAccount` need besides."""
QUOTAS = ("CPUS", "INSTANCES", "PREEMPTIBLE_CPUS", "DISKS_TOTAL_GB", "SSD_TOTAL_GB", "IN_USE_ADDRESSES")
"""Of a region: those of which instances use something."""


class Region(NamedTuple):
    """A region as Compute Engine has it."""

    zones: tuple[str, ...]
    quotas: tuple[tuple[str, float, float], ...]
    """Metric, limit and usage of each."""


def region(clients: GoogleClients, settings: ComputeEngineSettings) -> Region:
    """Return the region of the settings."""
    request = {"project": settings.project, "region": settings.region}
    found = clients.compute("Regions").get(request=request, retry=None, timeout=TIMEOUT)
    quotas = tuple((each.metric, each.limit, each.usage) for each in found.quotas)
    return Region(tuple(each.rpartition("/")[2] for each in found.zones), quotas)


def problems(account: GoogleAccount, settings: ComputeEngineSettings, location: str) -> list[str]:
    """Return every problem in words."""
    try:
        account.token(location)
        with account.visit(location) as clients:
            return list(_problems(clients, settings))
    except ProviderError as error:
        return [str(error)]


def _problems(clients: GoogleClients, settings: ComputeEngineSettings) -> Iterator[str]:
    wanted = [*PERMISSIONS]
    wanted += [EXTERNAL_ADDRESS] if settings.external_address else []
    wanted += [ACT_AS] if settings.instance_service_account else []
    if lacking := rights.missing(clients, settings.project, wanted):
        yield f"the credentials may not, in project {settings.project}: {', '.join(lacking)}"
    found = or_absent(lambda: region(clients, settings))
    if found is None:
        yield f"project {settings.project} has no region {settings.region}"
        return
    for each in settings.zones:
        if each not in found.zones:
            yield f"region {settings.region} has no zone {each}, but {', '.join(found.zones)}"
    for metric, limit, usage in found.quotas:
        if metric in QUOTAS and 0 < limit <= usage:
            what = f"quota {metric} of region {settings.region}"
            yield f"{what} has nothing left: {usage:g} of {limit:g} are used"
    for machine in settings.machines:
        yield from _machine(clients, settings, found, machine)
    yield from _image(clients, settings)
    yield from _subnetwork(clients, settings)


def _machine(
    clients: GoogleClients, settings: ComputeEngineSettings, found: Region, machine: GoogleMachine
) -> Iterator[str]:
    service = clients.compute("MachineTypes")

    def read(zone: str) -> Any:
        request = {"project": settings.project, "zone": zone, "machine_type": machine.machine}
        return or_absent(lambda: service.get(request=request, retry=None, timeout=TIMEOUT))

    there = [each for zone in settings.zones or found.zones if (each := read(zone)) is not None]
    if not there:
        yield f"no zone of region {settings.region} that may be used has machines of type {machine.machine}"
    elif there[0].guest_cpus < machine.cores:
        has = f"{machine.machine} has {there[0].guest_cpus} virtual CPUs"
        yield f"{has}, and the settings have {machine.cores} cores of it"


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
