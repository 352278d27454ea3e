"""How a status and an Event are written down. Pure."""

from __future__ import annotations

import hashlib
from datetime import UTC
from typing import TYPE_CHECKING

from minicluster.plan.constants import API_VERSION, KIND

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.plan import Event
    from minicluster.plan.fields import Object

REPORTER = "flux-framework.org/minicluster-operator"
NOTE_BYTES = 1024  # the API server takes no longer one


def status_patch(item: Object, status: Object) -> Object:
    """Return the merge patch from the stored status to this one, for exactly the version that was seen."""
    gone = dict.fromkeys(item["status"].keys() - status.keys())
    changed = {key: value for key, value in status.items() if item["status"].get(key) != value}
    metadata = item["metadata"]
    precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    return {"metadata": precondition, "status": {**changed, **gone}}


def event(item: Object, told: Event, instance: str, now: datetime) -> Object:
    """Return an Event (events.k8s.io/v1) about a MiniCluster."""
    metadata = item["metadata"]
    moment = now.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    unique = hashlib.sha256(f"{metadata['uid']} {told.reason} {moment}".encode()).hexdigest()[:16]
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.{unique}", "namespace": metadata["namespace"]},
        "eventTime": moment,
        "type": told.type,
        "reason": str(told.reason),
        "note": _cut(told.message),
        "action": "Reconcile",
        "reportingController": REPORTER,
        "reportingInstance": instance[:128],
        "regarding": {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        },
    }


def _cut(text: str) -> str:
    data = text.encode()
    return text if len(data) <= NOTE_BYTES else data[: NOTE_BYTES - 3].decode(errors="ignore") + "…"
