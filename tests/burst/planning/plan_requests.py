"""A request for a plan, with parts that tests change."""

from __future__ import annotations

from typing import Any

from broker_config.formats.jobspec import RequestedResources
from burst.planning.records import BurstableJob, BurstPlanRequest, BurstSlot, NodeShape, Offer

NOW = 1_000_000.0
EURO = 1_000_000
SLOT = BurstSlot("burst-0", 8, NodeShape(8))
OFFER = Offer("near", "c8", NodeShape(8), price=EURO)


def job(number: int, nodes: int = 1, **given: Any) -> BurstableJob:
    """A job of whole nodes, which has waited for an hour and may run for one."""
    defaults: dict[str, Any] = {"user": "alice", "wish": True, "limit": 3600.0, "submitted": NOW - 3600}
    return BurstableJob(
        id=number, request=RequestedResources(nodes, 1, 1, 0, exclusive=True), **{**defaults, **given}
    )


def request(*jobs: BurstableJob, **given: Any) -> BurstPlanRequest:
    """A plan's request of one slot and one offer."""
    defaults: dict[str, Any] = {"cluster": "mc", "title": "physics/mc", "now": NOW}
    defaults |= {"slots": (SLOT,), "offers": (OFFER,)}
    return BurstPlanRequest(jobs=jobs, **{**defaults, **given})
