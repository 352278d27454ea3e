"""What an administrator sets of a cluster of GKE in which bursts have node pools."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from burst.providers.google.settings import NAME, ZONE, GoogleMachine, GoogleProject
from burst.providers.node_pools.settings import NodePoolSettings, PoolMachine

LOCATION = r"^[a-z]+-[a-z]+[0-9]+(-[a-z])?$"
ControlPlane = Literal["public", "private", "dns"]
Tag = Annotated[str, Field(pattern=NAME)]


class GkeMachine(PoolMachine, GoogleMachine):
    """A type of machine of which nodes are made."""


class GkeSettings(NodePoolSettings, GoogleProject):
    """A cluster, what its node pools are made with, and whose rights are used."""

    location: str = Field(
        description="Region or zone of the cluster, such as `europe-west4`.", pattern=LOCATION
    )
    cluster: str = Field(description="Its name; it has to be there.", pattern=NAME, max_length=40)
    zone: str = Field(
        "",
        description="Zone of the nodes, near each other in one. Absent: the cluster's, if it is in a zone.",
        pattern=rf"^$|{ZONE}",
    )
    control_plane: ControlPlane = Field(
        "public",
        description="Address of the API server that is used: the public, private, or DNS one.",
    )
    machines: tuple[GkeMachine, ...] = Field(
        description="The price table: machines that are not in it are not used.", min_length=1
    )
    disk_gb: int = Field(50, description="Size of a node's disk, in GB, which costs too.", ge=10, le=65_536)
    disk_type: str = Field("pd-balanced", description="Type of that disk.", pattern=NAME)
    image_type: str = Field(
        "",
        description="Image of the nodes, such as `UBUNTU_CONTAINERD`; else GKE's own.",
        pattern=r"^[A-Z_]*$",
    )
    node_service_account: str = Field(
        "", description="E-mail of the service account of the nodes; absent: the project's default one."
    )
    tags: tuple[Tag, ...] = Field((), description="Network tags, by which firewall rules apply to the nodes.")

    def model_post_init(self, context: Any) -> None:
        """Raise ValueError for what does not belong together."""
        super().model_post_init(context)
        if not self.node_zone:
            raise ValueError(f"zone: {self.location} is a region: right would be one of its zones")
        if self.node_zone.rpartition("-")[0] != self.region:
            raise ValueError(f"zone: {self.zone} is not in region {self.region}")

    @property
    def region(self) -> str:
        """The region of the cluster."""
        return self.location.rpartition("-")[0] if self.location.count("-") > 1 else self.location

    @property
    def node_zone(self) -> str:
        """The zone of the nodes; empty where it is not known."""
        return self.zone or (self.location if self.location != self.region else "")

    @property
    def path(self) -> str:
        """The cluster as GKE names it."""
        return f"projects/{self.project}/locations/{self.location}/clusters/{self.cluster}"
