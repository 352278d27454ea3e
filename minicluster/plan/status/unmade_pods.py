"""Pods that the Job controller has not made yet: after some seconds its Job has the reason.

Pod Security or a quota may refuse pods: only the Job's Events have that.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from minicluster.plan.constants import ConditionType
from minicluster.plan.objects import names

if TYPE_CHECKING:
    from minicluster.plan.status.reconcile_state import ReconcileState

HINT_AFTER = timedelta(seconds=10)
"""Pods of a Job are made at once, hundreds in a second: what takes longer has a reason."""

_BEGINNINGS = (
    (ConditionType.RESOURCES_CREATED, "True"),
    (ConditionType.PODS_SCHEDULED, "False"),
    (ConditionType.SUSPENDED, "False"),
)
"""The conditions that hold while pods are to be made."""


def hint(state: ReconcileState, now: datetime) -> str:
    """Return where the reason is, as the end of a message; empty as long as it is early."""
    if _early(state, now) > timedelta():
        return ""
    return f" (if it stays so, kubectl describe job {names.job(state.cluster)} says why)"


def again(state: ReconcileState, now: datetime) -> float | None:
    """Return in how many seconds the hint is due where no pod is made; None: nothing is due by itself."""
    if not state.has_pods or state.pods or state.observed.pod_refusal:
        return None
    left = _early(state, now).total_seconds()
    return left if left > 0 else None


def _early(state: ReconcileState, now: datetime) -> timedelta:
    """Return how long there is no hint yet, by the times of the stored conditions."""
    stored = [state.previous(type_, status) for type_, status in _BEGINNINGS]
    times = [each.last_transition_time for each in stored if each is not None]
    if len(times) < len(_BEGINNINGS):
        return HINT_AFTER
    begun = max((datetime.fromisoformat(each) for each in times if each), default=now - HINT_AFTER)
    return begun + HINT_AFTER - now
