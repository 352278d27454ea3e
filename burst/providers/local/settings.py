"""What the settings of a provider `local` are."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from burst.errors import AmountInvalid
from burst.planning import money
from minicluster.local.site import cores_of_machine

MAX_NODES = 16
"""Brokers of so many nodes have room on a machine of today, whatever its cores."""


class LocalSettings(BaseModel):
    """The settings of one provider `local`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    most: int = Field(
        default=MAX_NODES,
        ge=1,
        description="How many nodes a burst may have. Each is a broker: some 60 MB, and no core of its own.",
    )
    cores: int = Field(
        default_factory=cores_of_machine,
        ge=1,
        description="Cores of a node; by default all of this machine, which nodes then use in common.",
    )
    gpus: int = Field(default=0, ge=0, description="GPUs of a node.")
    price: str = Field(default="0", description="For a node and hour, in the currency of the budgets.")

    @field_validator("price")
    @classmethod
    def _is_amount(cls, value: str) -> str:
        try:
            money.amount(value)
        except AmountInvalid as error:
            raise ValueError(str(error)) from error
        return value
