"""What the lead reported last. It stands while there is no report, until something else is known.

An operator that has just begun has no report for a while. That is no reason to write other conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.plan.constants import REPLACED_CODES, ConditionType, Reason

if TYPE_CHECKING:
    from minicluster.document import Condition
    from minicluster.plan.records import PodReport
    from minicluster.plan.status.reconcile_state import ReconcileState

COMPLETE = frozenset({Reason.ALL_JOINED, Reason.BROKERS_MISSING, Reason.JOBS_RESTARTED})
"""Reasons of BrokersReady that a report gives once all brokers have joined."""
_REPORTED = COMPLETE | {Reason.JOINING}


def stands(state: ReconcileState) -> bool:
    """Return whether there is no report, and the last one still counts."""
    previous, lead = state.previous(ConditionType.BROKERS_READY), state.lead
    if state.brokers is not None or previous is None or previous.reason not in _REPORTED or lead is None:
        return False
    return (lead.phase == "Running" and not state.unreachable_reason) or _has_finished(lead)


def condition(state: ReconcileState, type_: ConditionType) -> Condition | None:
    """Return a condition as the last report made it; None where that does not stand."""
    return state.previous(type_) if stands(state) else None


def ready_brokers(state: ReconcileState) -> int:
    """Return how many of the wanted brokers had joined; 0 where that does not stand."""
    return min(state.cluster.status.ready_brokers, state.size) if stands(state) else 0


def _has_finished(lead: PodReport) -> bool:
    """Return whether the lead ended with the instance, not by being lost: the Job reports it in a moment."""
    ended = lead.phase in {"Succeeded", "Failed"} and lead.exit_code is not None
    return ended and lead.exit_code not in REPLACED_CODES
