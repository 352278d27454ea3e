"""How the service finds and opens this provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.providers.gke.settings import GkeSettings
from burst.providers.google.clients import needed

if TYPE_CHECKING:
    from pydantic import BaseModel

    from burst.providers.kubernetes.kind import JoinContext
    from burst.providers.provider import BurstProvider


class GkeKind:
    """Opens providers of GKE."""

    @property
    def settings(self) -> type[BaseModel]:
        """The model of their settings."""
        return GkeSettings

    def open(self, name: str, settings: BaseModel, context: JoinContext) -> BurstProvider:
        """Return a provider. This makes no call. Raises CallInvalid where its client is not installed."""
        needed(name, "container")
        # What makes calls takes a moment to import: nobody else needs it.
        from burst.providers.gke.provider import opened  # noqa: PLC0415

        assert isinstance(settings, GkeSettings)  # noqa: S101 - who opens it has checked them
        return opened(name, settings, context)


KIND = GkeKind()
