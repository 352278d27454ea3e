"""What an administrator sets of instances for bursts."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from burst.providers.cloud_machines import twice
from burst.providers.google.settings import NAME, ZONE, GoogleMachine, GoogleProject

REGION = r"^[a-z]+-[a-z]+[0-9]+$"
IMAGE = r"^(projects/[a-z0-9.:-]+/)?global/images/(family/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
SUBNETWORK = r"^(projects/[a-z0-9.:-]+/regions/[a-z0-9-]+/subnetworks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
Zone = Annotated[str, Field(pattern=ZONE)]
Tag = Annotated[str, Field(pattern=NAME)]


class ComputeEngineSettings(GoogleProject):
    """A region of a project, what its instances boot, and their prices."""

    region: str = Field(description="Region of the instances, such as `europe-west4`.", pattern=REGION)
    zones: tuple[Zone, ...] = Field(
        (), description="Zones that a burst may be in: it is in one of them. Absent: any of the region."
    )
    machines: tuple[GoogleMachine, ...] = Field(
        description="The price table: machines that are not in it are not used.", min_length=1
    )
    image: str = Field(
        description="What they boot, with Flux in it: `global/images/NAME` or `global/images/family/NAME`,"
        " of another project with `projects/PROJECT/` before it.",
        pattern=IMAGE,
    )
    disk_gb: int = Field(20, description="Size of the boot disk, in GB.", ge=10, le=65_536)
    disk_type: str = Field("pd-balanced", description="Type of the boot disk.", pattern=NAME)
    network: str = Field("default", description="Name of the VPC network.", pattern=NAME)
    subnetwork: str = Field(
        "",
        description="Name of the subnetwork; of a shared VPC with `projects/PROJECT/regions/"
        "REGION/subnetworks/` before it. Absent: the network's own.",
        pattern=rf"^$|{SUBNETWORK}",
    )
    external_address: bool = Field(
        False,
        description="Whether each has an external IPv4 address, which costs; else Cloud NAT is needed.",
    )
    tags: tuple[Tag, ...] = Field((), description="Network tags, by which firewall rules apply to them.")
    instance_service_account: str = Field(
        "", description="E-mail of the service account that jobs there act as; absent: none."
    )
    path: tuple[str, ...] = Field((), description="Directories of the image that are first on PATH.")
    existing: tuple[str, ...] = Field(
        (), description="Volumes and Secrets of MiniClusters, by name, that the image has as files."
    )
    uid: int | None = Field(
        None, description="User of the lead's brokers, where a MiniCluster names none.", ge=1
    )

    def model_post_init(self, _context: Any) -> None:
        """Raise ValueError for what does not belong together."""
        if problem := twice(self.machines):
            raise ValueError(problem)
        if others := [each for each in self.zones if each.rpartition("-")[0] != self.region]:
            raise ValueError(f"zones: {', '.join(others)} is not in region {self.region}")

    @property
    def subnetwork_path(self) -> str:
        """The subnetwork as Compute Engine names it; empty for the network's own."""
        if not self.subnetwork or "/" in self.subnetwork:
            return self.subnetwork
        return f"projects/{self.project}/regions/{self.region}/subnetworks/{self.subnetwork}"

    @property
    def image_path(self) -> str:
        """The image as Compute Engine names it, with its project."""
        return self.image if self.image.startswith("projects/") else f"projects/{self.project}/{self.image}"
