"""Bursts as the status of their MiniCluster shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from burst.lifecycle.states import BurstState
from burst.planning import money
from burst.planning.plan import ALL
from minicluster.document import BurstStatus
from minicluster.document.status import MAX_BURSTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from burst.lifecycle.records import BurstRecord


def statuses(bursts: Iterable[BurstRecord], currency: str) -> Mapping[str, tuple[BurstStatus, ...]]:
    """Return the open ones of each MiniCluster, by its uid, the oldest first: so many as a status may have.

    Those that only wait for a slot come last.
    """
    found: dict[str, list[BurstRecord]] = {}
    for burst in bursts:
        if burst.state is not BurstState.DELETED:
            found.setdefault(burst.cluster, []).append(burst)
    return {
        uid: tuple(_status(each, currency) for each in sorted(several, key=_order)[:MAX_BURSTS])
        for uid, several in found.items()
    }


def _order(burst: BurstRecord) -> tuple[bool, str]:
    return burst.state is BurstState.REQUESTED, burst.id


def _status(burst: BurstRecord, currency: str) -> BurstStatus:
    return BurstStatus(
        id=burst.label,
        slot=burst.slot,
        provider=burst.provider,
        state=burst.state.value,
        nodes=burst.nodes,
        until=datetime.fromtimestamp(burst.until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        cost=f"{money.encode(burst.amounts.get(ALL, 0))} {currency}",
    )
