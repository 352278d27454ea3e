"""Fresh keys for a MiniCluster's Secret. The secret ones never show in a message or a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_config.curve import KeyPair

LEAD_DOMAIN = "door.minicluster"


@dataclass(frozen=True, slots=True)
class LeadKeys:
    """What the lead's door needs: its certificate and key (PEM), and the tokens of whoever may ask.

    With the `metrics_token` nothing but metrics can be read.
    """

    certificate: str
    key: str = field(repr=False)
    token: str = field(repr=False)
    metrics_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FreshKeys:
    """Keys for a Secret that is to be made: the brokers' pair, and where there is a door, that one's."""

    curve: KeyPair
    lead: LeadKeys | None = None


def lead_dns_name(uid: str) -> str:
    """Return the DNS name in the certificate of a MiniCluster's door by which the operator knows it.

    Nobody looks it up; who asks the door by its pod's name finds that in the certificate as well.
    """
    return f"{uid}.{LEAD_DOMAIN}"
