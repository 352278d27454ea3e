"""Kubernetes objects as JSON: their names, versions and controllers."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from minicluster.plan import ObjectKey
from minicluster.plan.objects.fields import Object

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "JsonPatch",
    "Name",
    "Object",
    "ObjectReference",
    "Patch",
    "controller",
    "controller_uid",
    "name_of",
    "time_of",
    "version",
]

JsonPatch = list[Object]
"""Operations on an object, in order (RFC 6902)."""
Patch = Object | JsonPatch
"""What to merge into an object (RFC 7386), or operations on it."""


class Name(NamedTuple):
    """The namespace and name of a MiniCluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ObjectReference(NamedTuple):
    """The kind, namespace and name of an object."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> ObjectKey:
        """Return the key within the namespace."""
        return ObjectKey(self.kind, self.name)


def name_of(item: Object) -> Name:
    """Return the namespace and name of a MiniCluster object."""
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
