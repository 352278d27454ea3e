"""The options of the service in a cluster: one frozen record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from burst.errors import LeadAway
from burst.providers import plugins
from burst.settings import file

if TYPE_CHECKING:
    from pathlib import Path

    from burst.joining.records import JoinSettings
    from burst.joining.tunnel_pods import TunnelPods
    from burst.providers.provider import WantedBurst
    from burst.settings.file import SettingsFile
    from minicluster.kube_client.access import Access
    from minicluster.kube_client.logs import LogFormat, LogLevel

SERVICE = "minicluster-burst"
"""The name of the Lease, and of the Secret with the operator's keys for bursts at leads."""
INSTALLED = "minicluster-system"
"""The namespace into which the shipped manifests install the operator."""


@dataclass(frozen=True, slots=True)
class ServedWorkplace:
    """What a service works with; a command in its pod works with the same."""

    access: Access
    namespaces: tuple[str, ...]
    """Those whose MiniClusters it serves; none: all."""
    secret: tuple[str, str]
    """Namespace and name of the Secret with the keys for leads."""
    settings: SettingsFile = field(repr=False)
    """Providers and budgets."""
    database: str = field(repr=False)
    """The URL of the ledger's; it may have a password."""
    state: Path
    """The directory for what providers keep."""
    tunnel_pods: TunnelPods | None
    """What tunnels run in; None: there are none."""


@dataclass(frozen=True, slots=True)
class BurstServiceSettings:
    """The options of one process."""

    workplace: ServedWorkplace
    lease: tuple[str, str]
    """Namespace and name of the Lease: of several processes the one that holds it makes bursts."""
    listen: tuple[str, int]
    """Address (empty: every one) and port (0: any) of /metrics and the probes."""
    log_format: LogFormat
    log_level: LogLevel
    identity: str
    """The name of this process in the Lease, and in the API server's audit log."""


def load_settings(path: Path, state: Path) -> SettingsFile:
    """Return the settings of a file, whose providers can be opened. Raises SettingsInvalid.

    So they are refused at once, and not only when this process makes bursts.
    """

    def join(_wanted: WantedBurst) -> JoinSettings:
        raise LeadAway("no service runs")

    found = file.load(path)
    plugins.open_providers(found, plugins.ProviderContext(join, state))
    return found
