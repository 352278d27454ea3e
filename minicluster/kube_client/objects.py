"""Objects of a cluster, as JSON, and by what they are known: names, versions, controllers."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from minicluster.plan import ObjectKey
from minicluster.plan.objects.fields import Object

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Name",
    "Object",
    "ObjectReference",
    "controller",
    "controller_uid",
    "name_of",
    "time_of",
    "version",
]


class Name(NamedTuple):
    """Which MiniCluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ObjectReference(NamedTuple):
    """Where an object is: its kind, namespace and name."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> ObjectKey:
        """Return the key within the namespace."""
        return ObjectKey(self.kind, self.name)


def name_of(item: Object) -> Name:
    """Return which MiniCluster an object is."""
    return Name(item["metadata"]["namespace"], item["metadata"]["name"])


def version(item: Object) -> int:
    """Return an object's resourceVersion; those of one kind can be compared (KEP-5504)."""
    return int(item["metadata"].get("resourceVersion") or 0)


def controller(metadata: Object) -> Object:
    """Return the reference to an object's controller, empty where it has none."""
    owners: Iterable[Object] = metadata.get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), {})


def controller_uid(item: Object) -> str:
    """Return the uid of an object's controller, empty where it has none."""
    return str(controller(item["metadata"]).get("uid", ""))


def time_of(text: str | None) -> datetime | None:
    """Return a time as the API server writes it, None where there is none."""
    return datetime.fromisoformat(text) if text else None
