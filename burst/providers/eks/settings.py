"""What an administrator sets of a cluster of Amazon EKS in which bursts have node groups, or have it made."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic reads the annotations
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from burst.lifecycle.records import PREFIX
from burst.providers.node_pools.settings import ClusterCreation, NodePoolSettings, by_name, creation_problem
from minicluster.document.record import Record

AmiType = Literal[
    "",
    "AL2023_x86_64_STANDARD",
    "AL2023_ARM_64_STANDARD",
    "AL2023_x86_64_NVIDIA",
    "AL2023_ARM_64_NVIDIA",
    "AL2023_x86_64_NEURON",
    "BOTTLEROCKET_x86_64",
    "BOTTLEROCKET_ARM_64",
    "BOTTLEROCKET_x86_64_NVIDIA",
    "BOTTLEROCKET_ARM_64_NVIDIA",
]


_ROLE = r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]+$"


class EksClusterCreation(ClusterCreation):
    """A cluster for each burst. Subnets, security groups and roles are never made."""

    cluster_role: str = Field(
        description="ARN of the IAM role that EKS itself has in the cluster; it has to be there.",
        pattern=_ROLE,
    )
    subnets: tuple[str, ...] = Field(
        description="Subnets for the control plane, in two zones at least; nodes have those of `subnets`.",
        min_length=2,
    )
    security_groups: tuple[str, ...] = Field(
        (),
        description="Further security groups of the control plane; EKS makes one of its own.",
        max_length=4,
    )
    version: str = Field(
        "",
        description="Version of Kubernetes, such as `1.35`; absent: EKS's own.",
        pattern=r"^(1\.[0-9]{2})?$",
    )
    public_access_cidrs: tuple[str, ...] = Field(
        (),
        description="Addresses from which the API server is reached, the service's among them; absent: all.",
    )


class EksCluster(Record):
    """A cluster that is there, by its name, or one that is made for each burst."""

    name: str = Field(
        "", description="Its name, if it is there.", pattern=r"^([0-9A-Za-z][0-9A-Za-z_-]{0,99})?$"
    )
    create: EksClusterCreation | None = Field(
        None, description="With what a cluster is made for each burst, in place of a name."
    )

    def model_post_init(self, _context: Any) -> None:
        """Raise ValueError where it is not one of both."""
        if bool(self.name) == (self.create is not None):
            raise ValueError("right would be the name of a cluster, or `create`, and not both")


class EksSettings(NodePoolSettings):
    """A cluster, what its node groups are made with, and the credentials."""

    region: str = Field(description="Region of the cluster.", pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]+$")
    cluster: Annotated[EksCluster, BeforeValidator(by_name)] = Field(
        description="Its name, if it is there; or `create`, with what one is made for each burst."
    )
    node_role: str = Field(
        description="ARN of the IAM role that its nodes have; it has to be there.",
        pattern=_ROLE,
    )
    subnets: tuple[str, ...] = Field(
        description="Subnets in which nodes are made; one alone keeps the nodes of a burst near each other.",
        min_length=1,
    )
    disk_gib: int = Field(20, description="Size of a node's disk in GiB, which costs money as well.", ge=1)
    ami_type: AmiType = Field(
        "", description="Kind of image of the nodes; absent: what EKS chooses for the type of machine."
    )
    release_version: str = Field(
        "", description="Release of that image; absent: the newest of the cluster's version."
    )
    credentials_file: Path | None = Field(
        None,
        description="File with access keys, in the form of `~/.aws/credentials`; one that runs a program is"
        " refused. Absent: where AWS's clients look, such as the role of the service's own pod.",
    )
    profile: str = Field("", description="Profile of that file; absent: `default`.")

    def model_post_init(self, context: Any) -> None:
        """Raise ValueError for what does not belong together."""
        super().model_post_init(context)
        if self.cluster.create is not None and (problem := creation_problem(self)):
            raise ValueError(problem)

    @property
    def account(self) -> str:
        """The number of the account, as the role has it."""
        return self.node_role.split(":")[4]

    @property
    def location(self) -> str:
        """Where bursts run, without a call."""
        return f"eks/{self.account}/{self.region}/{self.cluster.name or f'{PREFIX}*'}"
