"""What a region of Compute Engine has: zones, quotas, types of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from burst.providers.google.api_errors import or_absent
from burst.providers.google.credentials import TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from burst.providers.google.credentials import GoogleClients
    from burst.providers.google.settings import GoogleMachine

QUOTAS = ("CPUS", "INSTANCES", "PREEMPTIBLE_CPUS", "DISKS_TOTAL_GB", "SSD_TOTAL_GB", "IN_USE_ADDRESSES")
"""Those of which machines use something."""


class Region(NamedTuple):
    """A region as Compute Engine has it."""

    name: str
    zones: tuple[str, ...]
    quotas: tuple[tuple[str, float, float], ...]
    """Metric, limit and usage of each."""

    @classmethod
    def read(cls, clients: GoogleClients, project: str, name: str) -> Region | None:
        """Return a region; None: there is none of the name."""
        service = clients.compute("Regions")
        request = {"project": project, "region": name}
        found = or_absent(lambda: service.get(request=request, retry=None, timeout=TIMEOUT))
        if found is None:
            return None
        quotas = tuple((each.metric, each.limit, each.usage) for each in found.quotas)
        return cls(name, tuple(each.rpartition("/")[2] for each in found.zones), quotas)


def quota_problems(region: Region) -> Iterator[str]:
    """Yield the quotas of which nothing is left."""
    for metric, limit, usage in region.quotas:
        if metric in QUOTAS and 0 < limit <= usage:
            what = f"quota {metric} of region {region.name}"
            yield f"{what} has nothing left: {usage:g} of {limit:g} are used"


def machine_problems(
    clients: GoogleClients, project: str, region: Region, machine: GoogleMachine, zones: Sequence[str]
) -> Iterator[str]:
    """Yield what is wrong with a row of the price table, in these zones."""
    service = clients.compute("MachineTypes")
    cpus = 0
    for zone in zones:
        request = {"project": project, "zone": zone, "machine_type": machine.machine}
        found = or_absent(lambda: service.get(request=request, retry=None, timeout=TIMEOUT))  # noqa: B023
        cpus = max(cpus, found.guest_cpus if found is not None else 0)
    if not cpus:
        yield f"region {region.name} has no machines of type {machine.machine} in {', '.join(zones)}"
    elif cpus < machine.cores:
        yield f"{machine.machine} has {cpus} virtual CPUs, and the settings have {machine.cores} cores of it"
