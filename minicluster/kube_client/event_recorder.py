"""Makes the patch of a status, and Event objects. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from minicluster.kube_client.resources import CORE_EVENTS
from minicluster.plan.constants import API_VERSION, KIND

if TYPE_CHECKING:
    from minicluster.plan import KubernetesEvent
    from minicluster.plan.objects.fields import Object

REPORTER = "flux-framework.org/minicluster-operator"
NO_NAMESPACE = "default"  # where the API server wants Events about what has none
NOTE_BYTES = 1024  # the API server takes no longer one
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


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
    """Return an Event (core/v1) about a MiniCluster."""
    about = {"apiVersion": API_VERSION, "kind": KIND, "metadata": item["metadata"]}
    return event_about(about, details.type, (str(details.reason), details.message), _operator(instance), now)


def event_about(
    item: Object, type_: str, why: tuple[str, str], reporter: EventSource, now: datetime
) -> Object:
    """Return an Event about any object. `why` is its reason and message.

    It is in the object's namespace, or in `default` where the object has none. It is one of core/v1: kubectl
    describe sorts by lastTimestamp, which events.k8s.io/v1 refuses. That is in whole seconds; within one the
    order is that of the names, which therefore begin with the time.
    """
    metadata, (reason, message) = item["metadata"], why
    moment, second = _written(now, "microseconds"), _written(now, "seconds")
    unique = hashlib.sha256(f"{metadata['uid']} {reason} {moment}".encode()).hexdigest()[:8]
    return {
        "apiVersion": CORE_EVENTS.version,
        "kind": CORE_EVENTS.kind,
        "metadata": {
            "name": f"{metadata['name']}.{(now - EPOCH) // MICROSECOND:014x}{unique}",
            "namespace": metadata.get("namespace", NO_NAMESPACE),
        },
        "eventTime": moment,
        "firstTimestamp": second,
        "lastTimestamp": second,
        "count": 1,
        "type": type_,
        "reason": reason,
        "message": _cut(message),
        "action": reporter.action,
        "source": {"component": reporter.controller},
        "reportingComponent": reporter.controller,
        "reportingInstance": reporter.instance[:128],
        "involvedObject": {
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


def _written(now: datetime, unit: str) -> str:
    """Return a time as Kubernetes writes it (RFC 3339, UTC)."""
    return now.astimezone(UTC).isoformat(timespec=unit).replace("+00:00", "Z")


def _cut(text: str) -> str:
    data = text.encode()
    return text if len(data) <= NOTE_BYTES else data[: NOTE_BYTES - 3].decode(errors="ignore") + "…"
