"""The contents of a Lease, as it is read and as a candidate writes it. No I/O, no clock.

Source: Kubernetes API, coordination.k8s.io/v1 Lease; the use of its fields is that of client-go's
`leaderelection` and `resourcelock`. Times in a Lease are for users only: clocks of two machines are never
compared. An operator measures on its own clock for how long a Lease has not changed.
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
"""The duration, in whole seconds, in a Lease that its holder has released (the API refuses 0)."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The durations of a leader election, in seconds.

    The defaults are a little shorter than Kubernetes' own (15, 10, 2). After a crash in a burst of a hundred
    MiniClusters a standby has finished within 20 s what was left undone.
    """

    lease: float = 12.0
    """A standby takes over this long after the Lease last changed."""
    renew: float = 8.0
    """A leader that could not renew for this long stops; writes under way may take `lease` - `renew`."""
    retry: float = 1.5
    """The pause between two renewals, and between two polls of a standby."""

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
    """The spec of a Lease, and since when it has not changed."""

    spec: Object
    since: float
    """Seconds of this operator's clock."""
    gone: bool = False
    """Whether the Lease was deleted since. Its holder may not know that yet, so its time runs on."""

    @property
    def holder(self) -> str:
        """Return the holder's identity; empty: it has no holder."""
        return str(self.spec.get("holderIdentity") or "")

    @property
    def is_released(self) -> bool:
        """Whether its holder released it; if a user removed the holder, that may not know it yet."""
        return not self.holder and self._duration <= RELEASED_SECONDS

    def expiry(self, terms: Terms) -> float:
        """Return the time at which it is free, unless it changes before.

        The duration in the Lease counts only if it is longer than the terms. A shorter one does not, because
        the holder goes by its own terms.
        """
        return self.since + max(self._duration, terms.lease)

    @property
    def _duration(self) -> float:
        return float(self.spec.get("leaseDurationSeconds") or 0)


def new(namespace: str, name: str) -> Object:
    """Return a Lease without a holder."""
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
    """Return the Lease as released: another operator may take it at once."""
    changes = {
        "holderIdentity": "",
        "renewTime": micro_time(now),
        "leaseDurationSeconds": RELEASED_SECONDS,
    }
    return _with_spec(item, {**(item.get("spec") or {}), **changes})


def answered(item: Object, answer: Object) -> Object:
    """Return the Lease that was sent, with the metadata of the server's answer."""
    metadata = {key: value for key, value in answer["metadata"].items() if key != "managedFields"}
    return {**item, "metadata": metadata}


def micro_time(now: datetime) -> str:
    """Return a time as the API's MicroTime: RFC 3339 in UTC with six digits."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _with_spec(item: Object, spec: Object) -> Object:
    return {"apiVersion": LEASES.version, "kind": LEASES.kind, "metadata": item["metadata"], "spec": spec}
