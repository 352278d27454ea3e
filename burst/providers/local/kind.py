"""How a provider `local` is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.providers.local.settings import LocalSettings

if TYPE_CHECKING:
    from pydantic import BaseModel

    from burst.providers.local.provider import LocalProvider
    from burst.providers.plugins import ProviderContext


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
