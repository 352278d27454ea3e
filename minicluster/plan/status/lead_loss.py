"""The loss of the lead's pod, shown while there is no lead, and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.document import LeadLoss
from minicluster.plan.constants import REPLACED_CODES, ConditionType, Reason
from minicluster.plan.status import last_report
from minicluster.plan.status.condition_value import ConditionValue

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.status.reconcile_state import ReconcileState

NOTE = "it began anew when its lead's pod was lost"
"""The end of condition Running's message, as long as the later instance lives."""

_WORKED = frozenset({Reason.COMMAND_RUNNING, Reason.READY_FOR_WORK})

_BEGAN = frozenset({Reason.JOINING, Reason.PODS_RUNNING, Reason.LEAD_REPLACED})
"""With these the lead's pod has run."""


def status(state: ReconcileState) -> LeadLoss | None:
    """Return the last loss of the lead while the instance had work; None where there was none."""
    stored = state.cluster.status.lead_loss
    if not state.has_pods:
        return None
    if state.brokers is not None:
        return stored.model_copy(update={"is_over": True}) if stored else None
    if last_report.stands(state) or (stored is not None and not stored.is_over):
        return stored
    previous = state.previous(ConditionType.RUNNING)
    worked = previous is not None and previous.reason in _WORKED
    return (_loss(state) if worked else None) or stored


def condition(loss: LeadLoss | None, cluster: MiniCluster, progress: str) -> ConditionValue | None:
    """Return the condition Running until a new lead reports; None where no lead was lost.

    `progress` is the message about the pods.
    """
    if loss is None or loss.is_over:
        return None
    code = "" if loss.exit_code is None else f" with {loss.exit_code}"
    how = "the lead's pod is gone" if loss.cause == "PodGone" else f"the lead's pod has ended{code}"
    return ConditionValue("False", Reason.LEAD_LOST, f"{how}: {_lost(cluster)}; {progress}")


def is_replaced(state: ReconcileState) -> bool:
    """Return whether another lead's pod starts in place of one that ran, before there was work."""
    previous, lead = state.previous(ConditionType.RUNNING), state.lead
    return previous is not None and previous.reason in _BEGAN and (lead is None or lead.phase != "Running")


def note(loss: LeadLoss | None, cluster: MiniCluster) -> str:
    """Return the end of all messages about a later instance; empty where no queue was lost."""
    return "" if loss is None or cluster.spec.flux.state_volume else f"; {NOTE}"


def _loss(state: ReconcileState) -> LeadLoss | None:
    """Return how the lead was lost; None where it was not, or where it had saved before."""
    lead = state.lead
    if lead is None or lead.phase == "Pending":
        return LeadLoss(cause="PodGone")
    if lead.phase in {"Succeeded", "Failed"} and lead.exit_code in {None, *REPLACED_CODES} and not lead.dump:
        return LeadLoss(cause="PodEnded", exit_code=lead.exit_code)
    return None


def _lost(cluster: MiniCluster) -> str:
    spec = cluster.spec
    if spec.flux.state_volume:
        return "another one goes on with its queue (spec.flux.stateVolume); jobs that ran have failed"
    if spec.archive.path:
        return f"another one goes on from {spec.archive.path}, as far as that was written"
    work = "takes new work" if document.is_interactive(spec) else "runs the command from its beginning"
    return f"its queue and its jobs are lost (spec.flux.stateVolume would keep them); another one {work}"
