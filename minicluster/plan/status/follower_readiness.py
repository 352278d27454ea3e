"""The conditions of followers of another MiniCluster's lead, by their pods: no lead reports of them here.

Whether they have joined is known to that lead alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.constants import ConditionType, Reason
from minicluster.plan.status.condition_value import ConditionValue

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.records import PodReport
    from minicluster.plan.status.reconcile_state import ReconcileState


def follows(state: ReconcileState) -> bool:
    """Whether all brokers of this MiniCluster follow another one's lead."""
    return document.bursts_out(state.cluster.spec)


def ready(state: ReconcileState) -> int:
    """Return how many pods are ready: they run, their containers too, and they are to stay."""
    return sum(map(_is_ready, state.pods))


def brokers_ready(state: ReconcileState, stuck: str) -> ConditionValue:
    """Return the condition BrokersReady: whether all pods are ready.

    `stuck` is the end of its message about a pod that waits; empty where none does.
    """
    count, size = ready(state), state.size
    message = f"{count} of {size} {'pod is' if size == 1 else 'pods are'} ready"
    if count >= size:
        its = "its broker joins" if size == 1 else "their brokers join"
        return ConditionValue("True", Reason.FOLLOWING, f"{message}: {its} {lead(state.cluster)}")
    message = f"{message}{stuck}; they follow {lead(state.cluster)}"
    if _were_ready(state):
        return ConditionValue("False", Reason.BROKERS_MISSING, message)
    return ConditionValue("False", Reason.PODS_STUCK if stuck else Reason.PODS_STARTING, message)


def running(state: ReconcileState, stuck: str) -> ConditionValue:
    """Return the condition Running; `stuck` is the end of its message about a pod that waits."""
    count = sum(pod.phase == "Running" for pod in state.pods)
    message = f"{count} of {state.size} pods run"
    if count >= state.size:
        return ConditionValue("True", Reason.PODS_RUNNING, message)
    return ConditionValue("False", Reason.PODS_STUCK if stuck else Reason.PODS_STARTING, f"{message}{stuck}")


def lead(cluster: MiniCluster) -> str:
    """Return the lead that they follow, for messages."""
    found = cluster.spec.flux.bursting.lead_broker
    return f"the lead of {found.name} at {found.address}:{found.port}"


def _is_ready(pod: PodReport) -> bool:
    return pod.phase == "Running" and not pod.reason and not pod.leaving


def _were_ready(state: ReconcileState) -> bool:
    """Return whether all pods of this size were ready before, so that some were lost."""
    previous = state.previous(ConditionType.BROKERS_READY)
    return (
        previous is not None
        and previous.reason in {Reason.FOLLOWING, Reason.BROKERS_MISSING}
        and previous.observed_generation == state.cluster.metadata.generation
    )
