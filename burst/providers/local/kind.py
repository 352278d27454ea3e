"""What the settings of a provider `local` are, and how one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, field_validator

from burst.errors import AmountInvalid
from burst.planning import money
from minicluster.local.site import cores_of_machine

if TYPE_CHECKING:
    from burst.providers.local.provider import LocalProvider
    from burst.providers.plugins import ProviderContext


class LocalSettings(BaseModel):
    """The settings of one provider `local`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    most: int = Field(
        default_factory=cores_of_machine,
        ge=1,
        description="How many nodes a burst may have; each is a process.",
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


class LocalKind:
    """Opens providers `local`."""

    @property
    def settings(self) -> type[BaseModel]:
        """The settings of one provider."""
        return LocalSettings

    def open(self, name: str, settings: BaseModel, context: ProviderContext) -> LocalProvider:
        """Return a provider with this name."""
        from burst.providers.local.provider import LocalProvider  # noqa: PLC0415 - only where one is used

        return LocalProvider(name, LocalSettings.model_validate(settings.model_dump()), context)


KIND = LocalKind()
