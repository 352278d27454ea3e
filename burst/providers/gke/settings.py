"""What an administrator sets of a cluster of GKE in which bursts have node pools, or have it made."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from burst.lifecycle.records import PREFIX
from burst.providers.google.settings import NAME, ZONE, GoogleMachine, GoogleProject
from burst.providers.node_pools.settings import (
    ClusterCreation,
    NodePoolSettings,
    PoolMachine,
    by_name,
    creation_problem,
)
from minicluster.document.record import Record

LOCATION = r"^[a-z]+-[a-z]+[0-9]+(-[a-z])?$"
ControlPlane = Literal["public", "private", "dns"]
Tag = Annotated[str, Field(pattern=NAME)]


_NETWORK = (
    r"^(projects/[-a-z0-9.:]+/(global|regions/[a-z0-9-]+)/(networks|subnetworks)/)?[a-z][-a-z0-9]{0,62}$"
)
_RANGE = rf"^$|{NAME}"


class GkeClusterCreation(ClusterCreation):
    """A cluster for each burst. Networks, subnetworks and their ranges are never made."""

    ready_seconds: float = Field(
        420.0, description="How long it takes until it, with its nodes, is there.", gt=0, le=7200
    )
    network: str = Field(description="Name of its network, or its path in a shared VPC.", pattern=_NETWORK)
    subnetwork: str = Field(
        description="Name of its subnetwork in the region, or its path in a shared VPC.", pattern=_NETWORK
    )
    pods_range: str = Field(
        "", description="Secondary range of the subnetwork for pods; absent: GKE takes one.", pattern=_RANGE
    )
    services_range: str = Field(
        "", description="The same for services; absent: GKE takes one.", pattern=_RANGE
    )
    version: str = Field(
        "",
        description="Version of Kubernetes, such as `1.35`; absent: that of the channel REGULAR.",
        pattern=r"^(1\.[0-9]{2}(\.[0-9]+(-gke\.[0-9]+)?)?)?$",
    )
    private_nodes: bool = Field(
        False, description="Whether its nodes have no public addresses; then they need another way out."
    )


class GkeCluster(Record):
    """A cluster that is there, by its name, or one that is made for each burst."""

    name: str = Field("", description="Its name, if it is there.", pattern=rf"^$|{NAME}", max_length=40)
    create: GkeClusterCreation | None = Field(
        None, description="With what a cluster is made for each burst, in place of a name."
    )

    def model_post_init(self, _context: Any) -> None:
        """Raise ValueError where it is not one of both."""
        if bool(self.name) == (self.create is not None):
            raise ValueError("right would be the name of a cluster, or `create`, and not both")


class GkeMachine(PoolMachine, GoogleMachine):
    """A type of machine of which nodes are made."""


class GkeSettings(NodePoolSettings, GoogleProject):
    """A cluster, what its node pools are made with, and whose rights are used."""

    location: str = Field(
        description="Region or zone of the cluster, such as `europe-west4`.", pattern=LOCATION
    )
    cluster: Annotated[GkeCluster, BeforeValidator(by_name)] = Field(
        description="Its name, if it is there; or `create`, with what one is made for each burst."
    )
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
        if self.cluster.create is not None and (problem := creation_problem(self)):
            raise ValueError(problem)

    @property
    def region(self) -> str:
        """The region of the cluster."""
        return self.location.rpartition("-")[0] if self.location.count("-") > 1 else self.location

    @property
    def node_zone(self) -> str:
        """The zone of the nodes; empty where it is not known."""
        return self.zone or (self.location if self.location != self.region else "")

    @property
    def parent(self) -> str:
        """The location as GKE names it."""
        return f"projects/{self.project}/locations/{self.location}"

    @property
    def path(self) -> str:
        """The cluster that is there, as GKE names it."""
        return f"{self.parent}/clusters/{self.cluster.name}"

    @property
    def where(self) -> str:
        """Project, location and cluster in one, for people."""
        return f"{self.project}/{self.location}/{self.cluster.name or f'{PREFIX}*'}"
