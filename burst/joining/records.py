"""What brokers of a burst need in order to join a lead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from minicluster.document import MiniCluster


class LeadRoute(NamedTuple):
    """How this machine reaches a lead's broker: through the API server of its cluster, as a user of it."""

    kubeconfig: str
    """Empty: the usual one."""
    context: str
    """Empty: the current one."""
    namespace: str
    labels: str
    """The selector of the lead's pod."""
    port: int


class LeadHost(NamedTuple):
    """How pods in a lead's cluster reach its broker: by the network there."""

    host: str
    """Its DNS name, or an address."""
    port: int
    namespace: str
    """Of the pods of tunnels: those for this lead's MiniCluster are admitted from there."""


@dataclass(frozen=True, slots=True)
class MachineRoute:
    """How machines that are no pods get the certificate: from the API of the lead, by tokens good once."""

    address: str
    """The host name or IP address of the lead's API."""
    port: int
    name: str
    """By which its TLS shows the lead's own certificate."""
    fingerprint: str
    """The SHA-256 of that certificate in DER, in hex."""
    token: Callable[[str, int, float], str] = field(repr=False)
    """Returns the token of a burst's machine: of its label, number and end in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """A MiniCluster, and how its lead's broker is reached from where a burst's brokers run."""

    cluster: MiniCluster
    """The document, as its own brokers were started from it."""
    slot: str
    """The slot of the burst: its hosts are `<slot>-0` and so on."""
    address: str
    """The host name or IP address of the lead's broker; empty where there is none, but a route."""
    port: int
    certificate: str = field(repr=False)
    """The text of the CURVE certificate. It is secret."""
    fence: float = 30.0
    """Seconds without an answer of the lead after which a broker ends, with what runs there."""
    leave_after: float = 120.0
    """Seconds without a lead after which a broker is not started again."""
    directory: Path | None = None
    """Of a MiniCluster on this machine: where its brokers' files are."""
    route: LeadRoute | LeadHost | None = None
    """How the lead's side of a tunnel reaches the lead. None: brokers reach its address, without a tunnel."""
    machines: MachineRoute | None = None
    """How machines that are no pods get the certificate; None: they cannot."""
