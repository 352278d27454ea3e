"""Instances of Compute Engine as its own listing has them: what exists there costs money."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from burst.errors import ProviderError, RetryLater
from burst.providers.google.api_errors import ABSENT, or_absent, translated
from burst.providers.google.credentials import TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from burst.providers.google.credentials import GoogleClients

LABEL_CLUSTER = "minicluster-cluster"
"""On instances that are nodes of GKE: location and name of their cluster."""
_GKE_NODE = "goog-gke-node"
"""The label that GKE itself gives to its nodes."""
_GOING = {"STOPPING", "SUSPENDING", "PENDING_STOP", "DEPROVISIONING"}
_ENDED = {"TERMINATED", "STOPPED", "SUSPENDED"}
_RUNNING = "RUNNING"
_UNREACHABLE = "UNREACHABLE"


class ListedInstance(NamedTuple):
    """One instance."""

    name: str
    zone: str
    status: str
    """In the API's words."""
    created: float
    labels: Mapping[str, str]

    @property
    def is_running(self) -> bool:
        """Whether it has booted, or is about to."""
        return self.status == _RUNNING

    @property
    def is_going(self) -> bool:
        """Whether it is being stopped or deleted; it costs money meanwhile."""
        return self.status in _GOING

    @property
    def has_ended(self) -> bool:
        """Whether it is stopped: then its disks alone cost money."""
        return self.status in _ENDED

    @property
    def is_node(self) -> bool:
        """Whether it is a node of GKE, which its node pool deletes."""
        return _GKE_NODE in self.labels or LABEL_CLUSTER in self.labels


def with_labels(labels: Mapping[str, str]) -> str:
    """Return the filter for instances that have all of these labels."""
    return " ".join(f'(labels.{name} = "{value}")' for name, value in labels.items())


def listed(clients: GoogleClients, project: str, region: str, wanted: str) -> Sequence[ListedInstance]:
    """Return the instances of a region by a filter. Raises RetryLater where a zone was not reached."""
    request = {"project": project, "filter": wanted}
    found: list[ListedInstance] = []
    pages = clients.compute("Instances").aggregated_list(request=request, retry=None, timeout=TIMEOUT)
    for scope, each in pages:
        zone = scope.rpartition("/")[2]
        if zone.rpartition("-")[0] != region:
            continue
        if each.warning.code == _UNREACHABLE:
            raise RetryLater(f"{project}/{region}: zone {zone} is not reached: what is there is not known")
        found += [_read(one, zone) for one in each.instances]
    return found


def named(clients: GoogleClients, project: str, names: Iterable[tuple[str, str]]) -> Iterator[ListedInstance]:
    """Yield the instances that have these zones and names: no listing is needed for them."""
    service = clients.compute("Instances")
    for zone, name in names:
        request = {"project": project, "zone": zone, "instance": name}
        found = or_absent(lambda: service.get(request=request, retry=None, timeout=TIMEOUT))  # noqa: B023
        if found is not None:
            yield _read(found, zone)


def _read(found: Any, zone: str) -> ListedInstance:
    created = seconds(found.creation_timestamp)
    return ListedInstance(found.name, zone, found.status, created, dict(found.labels))


def delete(
    clients: GoogleClients, project: str, those: Iterable[ListedInstance], location: str
) -> list[ProviderError]:
    """Begin to delete instances, each whatever became of the others; return what kept some from it."""
    errors = []
    service = clients.compute("Instances")
    for each in those:
        request = {"project": project, "zone": each.zone, "instance": each.name}
        try:
            service.delete_unary(request=request, retry=None, timeout=TIMEOUT)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are to be deleted
            if getattr(error, "code", 0) != ABSENT:
                errors.append(translated(error, location))
    return errors


def seconds(timestamp: str) -> float:
    """Return a time that Google's services write, in seconds since 1970; 0 for none."""
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0


def billed(instances: Sequence[ListedInstance]) -> int:
    """Return how many of them cost money as machines."""
    return sum(not each.has_ended for each in instances)
