"""Machines of node pools as Compute Engine lists them: they cost money, and may outlive their pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.joining.workers import LABEL_BURST, LABEL_OWNER
from burst.providers.gke.node_pool import cluster_label
from burst.providers.google import instances
from burst.providers.google.instances import LABEL_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from burst.providers.gke.settings import GkeSettings
    from burst.providers.google.credentials import GoogleClients
    from burst.providers.google.instances import ListedInstance
    from burst.providers.provider import WantedBurst


def of_burst(clients: GoogleClients, settings: GkeSettings, wanted: WantedBurst) -> Sequence[ListedInstance]:
    """Return the machines of a burst."""
    return _listed(clients, settings, {LABEL_BURST: wanted.label, LABEL_OWNER: wanted.installation})


def owned(clients: GoogleClients, settings: GkeSettings, installation: str) -> Sequence[ListedInstance]:
    """Return those of all bursts of an installation."""
    return _listed(clients, settings, {LABEL_OWNER: installation})


def still_there(
    clients: GoogleClients, settings: GkeSettings, those: Iterable[ListedInstance]
) -> list[ListedInstance]:
    """Return those machines of a pool that is gone which are there: a listing may be older than that."""
    names = [(each.zone, each.name) for each in those]
    return list(instances.named(clients, settings.project, names))


def delete_left(clients: GoogleClients, settings: GkeSettings, wanted: WantedBurst, where: str) -> None:
    """Begin to delete the machines of a burst that have outlived their pool. Raises ProviderError."""
    found = still_there(clients, settings, of_burst(clients, settings, wanted))
    left = [each for each in found if not each.is_going]
    errors = instances.delete(clients, settings.project, left, where)
    if errors:
        raise errors[0]


def _listed(
    clients: GoogleClients, settings: GkeSettings, labels: Mapping[str, str]
) -> Sequence[ListedInstance]:
    wanted = instances.with_labels({**labels, LABEL_CLUSTER: cluster_label(settings)})
    return instances.listed(clients, settings.project, settings.region, wanted)
