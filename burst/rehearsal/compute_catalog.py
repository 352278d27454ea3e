"""What a project of Compute Engine has before anything is made: a region, its quotas, images, networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from burst.rehearsal.compute_operations import ROOT
from burst.rehearsal.google_account import absent
from burst.rehearsal.server import CloudAnswer, CloudRoute

if TYPE_CHECKING:
    from burst.rehearsal.cloud import CloudFault
    from burst.rehearsal.google_account import GoogleFrontend
    from burst.rehearsal.server import CloudRequest

_PROJECT = r"/compute/v1/projects/([\w.:-]+)"
GUEST_CPUS = 64


@dataclass
class ComputeCatalog:
    """One region, and what can be named there."""

    frontend: GoogleFrontend
    region: str = "us-central1"
    zones: tuple[str, ...] = ("us-central1-a", "us-central1-b")
    images: set[str] = field(default_factory=lambda: {"flux"})
    """Names of images, and of families."""
    subnetworks: set[str] = field(default_factory=lambda: {"default"})
    quotas: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By metric, such as CPUS: the limit, and what is used of it by others."""

    def routes(self) -> list[CloudRoute]:
        """Return what reads them."""
        calls = [
            ("compute.regions.get", rf"{_PROJECT}/regions/([\w-]+)", self._region),
            ("compute.machineTypes.get", rf"{_PROJECT}/zones/([\w-]+)/machineTypes/([\w-]+)", self._machine),
            ("compute.images.get", rf"{_PROJECT}/global/images/(?!family/)([\w-]+)", self._image),
            ("compute.images.getFromFamily", rf"{_PROJECT}/global/images/family/([\w-]+)", self._image),
            (
                "compute.subnetworks.get",
                rf"{_PROJECT}/regions/([\w-]+)/subnetworks/([\w-]+)",
                self._subnetwork,
            ),
        ]
        return [CloudRoute("GET", path, self.frontend.served(call, work)) for call, path, work in calls]

    def _region(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        name = request.parts[1]
        if name != self.region:
            return absent("regions", name)
        body: dict[str, Any] = {
            "kind": "compute#region",
            "name": name,
            "status": "UP",
            "zones": [f"{ROOT}/zones/{each}" for each in self.zones],
            "quotas": [
                {"metric": metric, "limit": limit, "usage": usage}
                for metric, (limit, usage) in self.quotas.items()
            ],
        }
        return CloudAnswer(body=body)

    def _machine(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        _, zone, name = request.parts
        if zone not in self.zones or name not in self.frontend.cloud.prices:
            return absent("machineTypes", name)
        size = name.rpartition("-")[2]
        cpus = int(size) if size.isdigit() else GUEST_CPUS
        return CloudAnswer(body={"kind": "compute#machineType", "name": name, "guestCpus": cpus})

    def _image(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        name = request.parts[1]
        if name not in self.images:
            return absent("images", name)
        return CloudAnswer(body={"kind": "compute#image", "name": name, "status": "READY"})

    def _subnetwork(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        name = request.parts[2]
        if name not in self.subnetworks:
            return absent("subnetworks", name)
        return CloudAnswer(body={"kind": "compute#subnetwork", "name": name})
