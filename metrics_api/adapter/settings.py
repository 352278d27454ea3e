"""The adapter's settings, from the command line: one frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from metrics_api.adapter.certificates import LIVES, Lives
from minicluster.plan.constants import LEAD_API_PORT

if TYPE_CHECKING:
    from metrics_api.adapter.registration import ServiceReference
    from minicluster.kube_client.access import Access
    from minicluster.kube_client.logs import LogFormat, LogLevel


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """The settings of one adapter."""

    access: Access
    namespaces: tuple[str, ...]
    """Those whose MiniClusters it serves; none: all."""
    service: ServiceReference
    """The Service by which the API server finds it.

    The Secrets with the operator's keys for it, and with its own authority, are in that namespace.
    """
    listen: tuple[str, int]
    """Address (empty: every one) and port (0: any)."""
    owner: str
    """The ClusterRole with which the APIServices are deleted; empty: they stay."""
    log_format: LogFormat
    log_level: LogLevel
    identity: str
    """Its name in the API server's audit log."""
    lead_api_port: int = LEAD_API_PORT
    lives: Lives = LIVES
