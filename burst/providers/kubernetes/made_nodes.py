"""Nodes that are made for one burst: its pods run on them and nowhere else, and nobody else's do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from burst.joining.workers import LABEL_BURST

if TYPE_CHECKING:
    from burst.providers.provider import WantedBurst
    from minicluster.kube_client.access import Access

NO_KUBECONFIG = (
    "spec.bursting.expose is tunnel, and a tunnel needs a kubeconfig in the provider's settings, as what runs"
    " it has no credentials of the cloud: set one, or expose to nodePort, loadBalancer or none"
)


NO_TUNNELS_THERE = (
    "spec.bursting.expose is tunnel, and a tunnel needs a kubeconfig, which a cluster that is made for a"
    " burst does not have: expose to nodePort, loadBalancer or none"
)


class MadeNodes(NamedTuple):
    """A cluster in which each burst has nodes of its own, and how its API server is reached."""

    location: str
    """Where it is, without a call: account and region, cluster and namespace."""
    access: Access | None = None
    """By the cloud's credentials; None: by the kubeconfig of the settings."""
    no_tunnels: str = NO_KUBECONFIG
    """Why there are no tunnels by these credentials."""


def selector(wanted: WantedBurst) -> dict[str, str]:
    """Return the labels that the nodes of a burst have, and its pods ask for."""
    return {LABEL_BURST: wanted.label}


def toleration(wanted: WantedBurst) -> dict[str, Any]:
    """Return what lets pods of a burst run on its nodes, which have the taint with this key and value."""
    return {"key": LABEL_BURST, "operator": "Equal", "value": wanted.label, "effect": "NoSchedule"}
