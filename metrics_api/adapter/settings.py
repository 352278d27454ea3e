"""What the adapter is told when it is started: one frozen record."""

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
    """How one adapter runs.

    `namespaces` are those whose MiniClusters it serves, none: all. `place` is the Service by which the API
    server finds it; the Secrets with the operator's keys for it, and with its own authority, are in that
    namespace. `listen` is the address (empty: every one) and port (0: any). With the ClusterRole `owner` the
    APIServices go, empty: they stay. `identity` stands in the API server's audit log.
    """

    access: Access
    namespaces: tuple[str, ...]
    service: ServiceReference
    listen: tuple[str, int]
    owner: str
    log_format: LogFormat
    log_level: LogLevel
    identity: str
    lead_api_port: int = LEAD_API_PORT
    lives: Lives = LIVES
