"""How the service finds and opens this provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from burst.providers.kubernetes.settings import KubernetesSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pydantic import BaseModel

    from burst.joining.records import JoinSettings
    from burst.joining.tunnel_pods import TunnelPods
    from burst.providers.provider import BurstProvider, WantedBurst


class JoinContext(Protocol):
    """What this provider needs of the service."""

    @property
    def join(self) -> Callable[[WantedBurst], JoinSettings]:
        """Returns how the brokers of a burst join. It raises LeadAway and RetryLater."""

    @property
    def state(self) -> Path:
        """A directory of the service's, for what runs on this machine."""

    @property
    def tunnel_pods(self) -> TunnelPods | None:
        """Where tunnels run in pods; None: on this machine."""


class KubernetesKind:
    """Opens providers of Kubernetes clusters."""

    @property
    def settings(self) -> type[BaseModel]:
        """The model of their settings."""
        return KubernetesSettings

    def open(self, name: str, settings: BaseModel, context: JoinContext) -> BurstProvider:
        """Return a provider. This makes no call."""
        # The client of API servers takes a moment to import: nobody else needs it.
        from burst.providers.kubernetes.provider import KubernetesProvider  # noqa: PLC0415

        assert isinstance(settings, KubernetesSettings)  # noqa: S101 - who opens it has checked them
        tunnels = context.tunnel_pods or context.state / "tunnels"
        return KubernetesProvider(name, settings, context.join, tunnels=tunnels)


KIND = KubernetesKind()
