"""Fresh keys for a MiniCluster's Secret. Secret keys and tokens are no part of their `repr`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_config.curve import KeyPair

LEAD_DOMAIN = "door.minicluster"


@dataclass(frozen=True, slots=True)
class Generations:
    """The generation of each purpose's tokens: a higher one replaces all tokens of that purpose."""

    metrics: int = 1
    jobs: int = 1
    burst: int = 1

    def of(self, purpose: str) -> int:
        """Return that of a purpose."""
        return {"metrics": self.metrics, "jobs": self.jobs, "burst": self.burst}[purpose]

    def __str__(self) -> str:
        return f"metrics={self.metrics},jobs={self.jobs},burst={self.burst}"


FIRST_GENERATIONS = Generations()


@dataclass(frozen=True, slots=True)
class LeadKeys:
    """What the lead API needs: its certificate and key (PEM), and the tokens of its clients."""

    certificate: str
    key: str = field(repr=False)
    token: str = field(repr=False)
    """The operator's token, for all routes."""
    metrics_token: str = field(repr=False)
    """A token with which only metrics can be read."""
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The files of the second Secret: a token for each purpose, that for metrics among them."""


@dataclass(frozen=True, slots=True)
class FreshKeys:
    """Keys for a new Secret: the brokers' pair, and those of the lead API where there is one."""

    curve: KeyPair
    lead: LeadKeys | None = None


def lead_dns_name(uid: str) -> str:
    """Return the DNS name in a lead API's certificate by which the operator checks it.

    No DNS server has it. The pod's own DNS names are in the certificate as well, for other clients.
    """
    return f"{uid}.{LEAD_DOMAIN}"
