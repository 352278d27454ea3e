"""What a Lease says, and what an operator writes into one. No I/O, no clock.

Source: Kubernetes API, coordination.k8s.io/v1 Lease; the use of its fields is that of client-go's
`leaderelection` and `resourcelock`. Times in a Lease are for people only: nobody compares the clocks of two
machines. Whoever watches a Lease measures on its own clock for how long it has not changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from minicluster.kube_client.resources import LEASES

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.plan.objects.fields import Object

RELEASED_SECONDS = 1
"""The duration, in whole seconds, that a holder leaves behind when it goes (0 is refused by the API)."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How long, in seconds, a leader that is silent still counts.

    The defaults are a little shorter than Kubernetes' own (15, 10, 2): what a crash left undone in a burst of
    a hundred MiniClusters is done within 20 s, although a standby needs some of them for the work itself.

    `lease`: a standby waits so long after the Lease last changed. `renew`: a leader that could not renew for
    so long stops writing; what it has under way then may last `lease` - `renew`. `retry`: the pause between
    two renewals, and between two looks of a standby.
    """

    lease: float = 12.0
    renew: float = 8.0
    retry: float = 1.5

    @property
    def attempt(self) -> float:
        """Return the seconds that one attempt may take: two fit before the deadline."""
        return self.renew / 2

    def __post_init__(self) -> None:
        if not self.lease > self.renew > self.retry > 0:
            raise ValueError(
                f"terms of a Lease: lease ({self.lease:g} s) must be longer than renew ({self.renew:g} s), "
                f"and that longer than retry ({self.retry:g} s)"
            )


@dataclass(frozen=True, slots=True)
class Sighting:
    """The spec of a Lease, and since when (in seconds of the watcher's clock) it has not changed.

    `gone`: it was deleted since. Its holder may not know that yet, so that its time runs on.
    """

    spec: Object
    since: float
    gone: bool = False

    @property
    def holder(self) -> str:
        """Return the holder's identity, empty where nobody holds it."""
        return str(self.spec.get("holderIdentity") or "")

    @property
    def is_released(self) -> bool:
        """Whether the holder gave it up; a holder that was merely blotted out is not sure to know."""
        return not self.holder and self._duration <= RELEASED_SECONDS

    def expiry(self, terms: Terms) -> float:
        """Return when it is free, unless it changes.

        What it says itself counts where that is longer; a duration that was shortened does not, because
        the holder goes by its own terms.
        """
        return self.since + max(self._duration, terms.lease)

    @property
    def _duration(self) -> float:
        return float(self.spec.get("leaseDurationSeconds") or 0)


def new(namespace: str, name: str) -> Object:
    """Return a Lease that nobody holds yet."""
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": LEASES.version, "kind": LEASES.kind, "metadata": metadata, "spec": {}}


def renewed(item: Object, identity: str, terms: Terms, now: datetime) -> Object:
    """Return the Lease renewed by its holder, or taken by another."""
    spec = item.get("spec") or {}
    changes: Object = {"renewTime": micro_time(now), "leaseDurationSeconds": math.ceil(terms.lease)}
    if spec.get("holderIdentity") != identity:
        changes["holderIdentity"] = identity
        changes["acquireTime"] = micro_time(now)
        changes["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + 1 if spec else 0
    return _with_spec(item, {**spec, **changes})


def released(item: Object, now: datetime) -> Object:
    """Return the Lease given up: whoever sees it may take it at once."""
    changes = {
        "holderIdentity": "",
        "renewTime": micro_time(now),
        "leaseDurationSeconds": RELEASED_SECONDS,
    }
    return _with_spec(item, {**(item.get("spec") or {}), **changes})


def answered(item: Object, answer: Object) -> Object:
    """Return what was sent with the metadata that the server gave it."""
    metadata = {key: value for key, value in answer["metadata"].items() if key != "managedFields"}
    return {**item, "metadata": metadata}


def micro_time(now: datetime) -> str:
    """Return a time as the API's MicroTime: RFC 3339 in UTC with six digits."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _with_spec(item: Object, spec: Object) -> Object:
    return {"apiVersion": LEASES.version, "kind": LEASES.kind, "metadata": item["metadata"], "spec": spec}
