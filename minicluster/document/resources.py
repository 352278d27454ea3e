"""CPUs, memory, devices: what a container asks for and may use at most."""

from typing import Annotated

from pydantic import Field

from minicluster.document.record import Record
from minicluster.document.scalars import MAX_ENTRIES, LabelName, Quantity, ShortText

ResourceName = Annotated[str, Field(max_length=317)]
ResourceList = Annotated[dict[ResourceName, Quantity], Field(max_length=64)]


class ResourceClaimUse(Record):
    """A device claim of the pod that a container uses."""

    name: LabelName = Field(description="Name of the claim, one of `pod.resourceClaims`.")
    request: ShortText = Field("", description="One request of the claim; absent: all of them.")


class ResourceRequirements(Record):
    """What a container is given. CPU limits also say how many cores a broker offers to Flux."""

    limits: ResourceList = Field(
        default_factory=dict, description="The most the container may use, for example `cpu: 2`."
    )
    requests: ResourceList = Field(
        default_factory=dict, description="What is set aside for the container on its node."
    )
    claims: Annotated[tuple[ResourceClaimUse, ...], Field(max_length=MAX_ENTRIES)] = Field(
        (), description="Devices, by claim, that the container uses."
    )
