"""How the service finds and opens this provider."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from burst.providers.compute_engine.settings import ComputeEngineSettings
from burst.providers.google.clients import needed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from burst.providers.compute_engine.provider import ComputeEngineProvider
    from burst.providers.plugins import ProviderContext
    from burst.providers.provider import WantedBurst


class ComputeEngineKind:
    """Opens providers of Compute Engine."""

    @property
    def settings(self) -> type[BaseModel]:
        """The model of their settings."""
        return ComputeEngineSettings

    def open(self, name: str, settings: BaseModel, context: ProviderContext) -> ComputeEngineProvider:
        """Return a provider. This makes no call. Raises CallInvalid where its client is not installed."""
        needed(name, "compute")
        from burst.joining import machines  # noqa: PLC0415 - only where one is used
        from burst.providers.compute_engine.provider import ComputeEngineProvider  # noqa: PLC0415

        assert isinstance(settings, ComputeEngineSettings)  # noqa: S101 - who opens it has checked them
        given = machines.MachineSettings(settings.path, frozenset(settings.existing), settings.uid)

        def boot(wanted: WantedBurst) -> Mapping[str, str]:
            return machines.boot_metadata(context.join(wanted), wanted, given, time.time())

        return ComputeEngineProvider(name, settings, boot, machines.console_problem)


KIND = ComputeEngineKind()
