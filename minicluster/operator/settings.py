"""The options with which the operator is started: one frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.plan.objects.keys import FIRST_GENERATIONS, Generations

if TYPE_CHECKING:
    from minicluster.document import GranularityName
    from minicluster.kube_client.access import Access
    from minicluster.kube_client.logs import LogFormat, LogLevel


__all__ = ["INSTALLED", "LEASE", "Generations", "OperatorSettings"]
LEASE = "minicluster-operator"
"""The default name of the Lease by which operators agree on who leads."""
INSTALLED = "minicluster-system"
"""The namespace into which the shipped manifests install the operator."""


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """The options of one operator."""

    access: Access
    namespaces: tuple[str, ...]
    """The namespaces whose MiniClusters it reconciles; none: all."""
    lease: tuple[str, str] | None
    """Namespace and name of the leader's Lease; None: it leads without one, and must be the only operator."""
    listen: tuple[str, int]
    """Address (empty: every one) and port (0: a free one) of /healthz, /readyz and /metrics."""
    log_format: LogFormat
    log_level: LogLevel
    identity: str
    """The name of this process in the Lease; no other operator has it."""
    own_namespace: str = ""
    """The namespace of its pod, from which NetworkPolicies admit it to the lead API; empty: no pod."""
    generations: Generations = FIRST_GENERATIONS
    """Of the tokens for the lead API."""
    granularity: GranularityName = "none"
    """How MiniClusters with a profile are cut into brokers; other than none it also watches nodes."""
    granularity_override: bool = False
    """Whether a document may say otherwise."""
