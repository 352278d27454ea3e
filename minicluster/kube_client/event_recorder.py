"""Makes the patch of a status, and Event objects. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from minicluster.plan.constants import API_VERSION, KIND

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.plan import KubernetesEvent
    from minicluster.plan.objects.fields import Object

REPORTER = "flux-framework.org/minicluster-operator"
NO_NAMESPACE = "default"  # where the API server wants Events about what has none
NOTE_BYTES = 1024  # the API server takes no longer one


def status_patch(item: Object, status: Object) -> Object:
    """Return the merge patch from an item's status to this one; the item's version is a precondition."""
    metadata = item["metadata"]
    precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    return {"metadata": precondition, "status": _merge_patch(item["status"], status)}


def _merge_patch(old: Object, new: Object) -> Object:
    """Return the merge patch from one object to another (RFC 7396); a removed key is null, at every level."""
    changes: Object = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            inner = _merge_patch(before, value)
            changes |= {key: inner} if inner else {}
        elif key not in old or before != value:
            changes[key] = value
    return changes


@dataclass(frozen=True, slots=True)
class EventSource:
    """The sender of an Event."""

    controller: str
    instance: str
    """Which process of the controller."""
    action: str
    """What it was doing."""


def event(item: Object, details: KubernetesEvent, instance: str, now: datetime) -> Object:
    """Return an Event (events.k8s.io/v1) about a MiniCluster."""
    about = {"apiVersion": API_VERSION, "kind": KIND, "metadata": item["metadata"]}
    return event_about(about, details.type, (str(details.reason), details.message), _operator(instance), now)


def event_about(
    item: Object, type_: str, why: tuple[str, str], reporter: EventSource, now: datetime
) -> Object:
    """Return an Event about any object. `why` is its reason and message.

    It is in the object's namespace, or in `default` where the object has none.
    """
    metadata, (reason, message) = item["metadata"], why
    moment = now.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    unique = hashlib.sha256(f"{metadata['uid']} {reason} {moment}".encode()).hexdigest()[:16]
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": f"{metadata['name']}.{unique}",
            "namespace": metadata.get("namespace", NO_NAMESPACE),
        },
        "eventTime": moment,
        "type": type_,
        "reason": reason,
        "note": _cut(message),
        "action": reporter.action,
        "reportingController": reporter.controller,
        "reportingInstance": reporter.instance[:128],
        "regarding": {
            "apiVersion": item["apiVersion"],
            "kind": item["kind"],
            **{
                key: metadata[key]
                for key in ("namespace", "name", "uid", "resourceVersion")
                if key in metadata
            },
        },
    }


def _operator(instance: str) -> EventSource:
    return EventSource(REPORTER, instance, "Reconcile")


def _cut(text: str) -> str:
    data = text.encode()
    return text if len(data) <= NOTE_BYTES else data[: NOTE_BYTES - 3].decode(errors="ignore") + "…"
