"""What an administrator sets of a cluster of Amazon EKS in which bursts have node groups."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic reads the annotations
from typing import Literal

from pydantic import Field

from burst.providers.node_pools.settings import NodePoolSettings

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


class EksSettings(NodePoolSettings):
    """A cluster, what its node groups are made with, and the credentials."""

    region: str = Field(description="Region of the cluster.", pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]+$")
    cluster: str = Field(
        description="Its name; it has to be there.", pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$"
    )
    node_role: str = Field(
        description="ARN of the IAM role that its nodes have; it has to be there.",
        pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]+$",
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

    @property
    def account(self) -> str:
        """The number of the account, as the role has it."""
        return self.node_role.split(":")[4]

    @property
    def location(self) -> str:
        """Where bursts run, without a call."""
        return f"eks/{self.account}/{self.region}/{self.cluster}"
