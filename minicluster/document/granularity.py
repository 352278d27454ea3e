"""How a MiniCluster is cut into brokers: what the document says, and what was made of it."""

from typing import Literal

from pydantic import Field

from minicluster.document.record import Record
from minicluster.document.scalars import BrokerCount

ProfileName = Literal["cpu", "memory", "network", "io"]
"""What the tasks of the main job use most."""
GranularityName = Literal["none", "scale", "granularity", "predicted"]
"""The rule by which brokers are cut (docs/operator.md)."""


class GranularityStatus(Record):
    """How a MiniCluster was cut into brokers, before its pods were made; it stays so."""

    policy: GranularityName = Field(description="The rule by which it was decided.")
    profile: ProfileName = Field(description="The profile that it was decided for.")
    nodes: BrokerCount = Field(description="Number of nodes that the brokers are for.")
    groups: BrokerCount = Field(
        description="Number of groups of brokers, each of which is best on a node of its own."
    )
    brokers: BrokerCount = Field(
        description="Number of brokers, and so of pods, that each one of `spec.size` was cut into. Each has"
        " as large a part of the CPU, memory and devices that the document gives one."
    )
