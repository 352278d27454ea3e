"""Condition Autoscaling: whether the size follows demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.constants import Reason
from minicluster.plan.objects import autoscaler
from minicluster.plan.status.condition_value import ConditionValue

if TYPE_CHECKING:
    from minicluster.plan.status.reconcile_state import ReconcileState


def condition(state: ReconcileState) -> ConditionValue | None:
    """Return whether the size follows demand; None where the document does not ask for that."""
    if state.cluster.spec.autoscaling is None:
        return None
    if state.ended:
        return ConditionValue("False", Reason.FINISHED, "the MiniCluster has ended")
    if document.bursts_out(state.cluster.spec):
        why = "the size is left alone: followers of another lead have no queue of their own"
        return ConditionValue("False", Reason.HELD_BACK, why)
    wanted = autoscaler.wanted_by(state.cluster, suspended=state.suspended)
    if wanted is None:
        return ConditionValue(
            "False", Reason.HELD_BACK, "the size is left alone while the MiniCluster is suspended"
        )
    least, greatest = autoscaler.bounds(state.cluster, wanted)
    follows = f"the size follows {wanted.metric}, from {least} to {greatest}"
    return _missing(state) or ConditionValue("True", Reason.FOLLOWING, follows)


def _missing(state: ReconcileState) -> ConditionValue | None:
    """Return why this MiniCluster has no autoscaler; None where it has one."""
    observed, wanted = state.observed, autoscaler.key(state.cluster)
    refused = autoscaler.refusals(observed.refusals, of_autoscaler=True)
    if refused:
        message = f"{refused[0].key} was refused: {refused[0].message} (it is tried again)"
        return ConditionValue("False", Reason.REFUSED, message)
    found = observed.find(wanted)
    if found is None:
        return ConditionValue("False", Reason.CREATING, f"{wanted} is being made")
    if autoscaler.own(state.cluster, observed) is None:
        taken = f"{wanted} belongs to {found.owner or 'somebody else'}"
        advice = "take spec.autoscaling out of the document, or delete the other one"
        return ConditionValue("False", Reason.NAME_TAKEN, f"{taken}: {advice}")
    return None
