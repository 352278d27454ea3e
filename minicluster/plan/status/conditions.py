"""The conditions of a MiniCluster, made from the state and from the records in the status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.printable import few
from minicluster import document
from minicluster.plan.brokers.cutting import parts
from minicluster.plan.constants import KIND, LABEL_KUEUE_QUEUE, SELDOM, ConditionType, Phase, Reason
from minicluster.plan.objects import autoscaler
from minicluster.plan.status import (
    autoscaling,
    broker_readiness,
    bursts,
    exclusive_cores,
    follower_readiness,
    image_pulls,
    last_report,
    lead_loss,
    node_loss,
    resizing,
    saves,
    unmade_pods,
)
from minicluster.plan.status.condition_value import ConditionValue, unchanged
from minicluster.plan.status.reconcile_state import Completion, pod_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from minicluster.document import Condition, LeadLoss
    from minicluster.plan.records import BrokerReport, ObservedObject, Site
    from minicluster.plan.status.progress import ProgressRecords
    from minicluster.plan.status.reconcile_state import ReconcileState


def values(
    state: ReconcileState, progress: ProgressRecords, site: Site, now: datetime
) -> dict[ConditionType, ConditionValue]:
    """Return the value of every condition, in the order in which they are shown."""
    scaling, bursting = autoscaling.condition(state), bursts.condition(state.cluster)
    exclusive = exclusive_cores.condition(state.cluster, site)
    return {
        ConditionType.VALID: _valid(state),
        ConditionType.RESOURCES_CREATED: _resources_created(state),
        ConditionType.PODS_SCHEDULED: _pods_scheduled(state, now),
        ConditionType.BROKERS_READY: _brokers_ready(state, progress),
        ConditionType.RUNNING: _running(state, progress.lead_loss),
        ConditionType.SUCCEEDED: _succeeded(state),
        ConditionType.FAILED: _failed(state),
        ConditionType.SUSPENDED: _suspended(state),
        ConditionType.RESIZING: resizing.condition(
            progress.resize, progress.restarted_jobs, state.cluster, _placed(state)
        ),
        **({ConditionType.AUTOSCALING: scaling} if scaling else {}),
        **({ConditionType.BURSTING: bursting} if bursting else {}),
        **({ConditionType.EXCLUSIVE_CORES: exclusive} if exclusive else {}),
    }


def refused(
    problem: str, stored: Iterable[Condition], reason: Reason = Reason.INVALID
) -> dict[ConditionType, ConditionValue]:
    """Return the conditions of a document that is not valid; all others stay as they are stored."""
    unknown = ConditionValue(
        "Unknown", Reason.NOT_CHECKED, "the document is not valid: nothing is done until it is"
    )
    known = {each.type: unchanged(each) for each in stored}
    return {
        **{
            type_: known.get(type_, unknown)
            for type_ in ConditionType
            if type_ in known or type_ not in SELDOM
        },
        ConditionType.VALID: ConditionValue("False", reason, problem),
    }


def phase(found: Mapping[ConditionType, ConditionValue]) -> Phase:
    """Return the phase: the first one whose condition holds."""
    holds = {type_ for type_, value in found.items() if value.status == "True"}
    if found[ConditionType.SUCCEEDED].status == "True":
        return Phase.SUCCEEDED
    if found[ConditionType.FAILED].status == "True":
        return Phase.FAILED
    if ConditionType.VALID not in holds:
        return Phase.INVALID
    for type_, word in (
        (ConditionType.SUSPENDED, Phase.SUSPENDED),
        (ConditionType.RESIZING, Phase.RESIZING),
        (ConditionType.RUNNING, Phase.RUNNING),
        (ConditionType.PODS_SCHEDULED, Phase.STARTING),
    ):
        if type_ in holds:
            return word
    return Phase.PENDING


def _valid(state: ReconcileState) -> ConditionValue:
    problem = size_problem(state)
    if problem:
        return ConditionValue("False", Reason.SIZE_OUT_OF_RANGE, problem)
    return ConditionValue("True", Reason.ACCEPTED, "the document is valid")


def size_problem(state: ReconcileState) -> str:
    """Return what is wrong with the size; empty: nothing. Brokers read the list of hosts only at start."""
    greatest = document.max_size(state.cluster)
    if state.size <= greatest:
        return ""
    each = parts(state.cluster)
    size, most = state.size // each, greatest // each
    cut = f" ({each} for each one of spec.size)" if each > 1 else ""
    return (
        f"spec.size is {size}, but the brokers were started with a list of {greatest} hosts{cut}; "
        f"set spec.size to at most {most}, or make a new MiniCluster with spec.maxSize {size}"
    )


def _resources_created(state: ReconcileState) -> ConditionValue:
    if state.outcome is not Completion.NONE:
        return ConditionValue("True", Reason.CREATED, "all objects were made")
    if state.conflicting and all(_is_predecessors(state, item) for item in state.conflicting):
        count = len(state.conflicting)
        message = f"the objects of the former MiniCluster of this name are going ({count} left)"
        return ConditionValue("False", Reason.CREATING, message)
    if state.conflicting:
        taken = "; ".join(
            f"{item.key} belongs to {item.owner or 'somebody else'}" for item in state.conflicting
        )
        advice = "rename this MiniCluster (or its network.headlessName), or delete the other object"
        return ConditionValue("False", Reason.NAME_TAKEN, f"{taken}: {advice}")
    refusals = autoscaler.refusals(state.observed.refusals, of_autoscaler=False)
    if refusals:
        refused = "; ".join(f"{each.key} was refused: {each.message}" for each in refusals)
        return ConditionValue("False", Reason.REFUSED, f"{refused} (it is tried again)")
    if state.missing:
        return ConditionValue("False", Reason.CREATING, f"{len(state.wanted)} objects are being made")
    return ConditionValue("True", Reason.CREATED, f"all {len(state.wanted)} objects exist")


def _is_predecessors(state: ReconcileState, item: ObservedObject) -> bool:
    """Whether an object belongs to a former MiniCluster of the same name, and so will be deleted."""
    return item.owner.partition(" (")[0] == f"{KIND} {state.cluster.metadata.name}"


def _placed(state: ReconcileState) -> int | None:
    """Return how many pods have a node; None where all have one, or there are to be none."""
    placed = sum(pod.scheduled for pod in state.pods)
    return placed if state.has_pods and placed < state.size else None


def _pods_scheduled(state: ReconcileState, now: datetime) -> ConditionValue:
    early = _no_pods(state)
    if early:
        return early
    placed = sum(pod.scheduled for pod in state.pods)
    message = f"{placed} of {state.size} pods have a node"
    if placed >= state.size:
        return ConditionValue("True", Reason.ALL_SCHEDULED, message)
    lacking = state.size - len(state.pods)
    if lacking > 0 and state.observed.pod_refusal:
        why = f"{lacking} cannot be made: {state.observed.pod_refusal}"
        return ConditionValue("False", Reason.REFUSED, f"{message}; {why} (it is tried again)")
    if lacking:
        message = f"{message}; {lacking} not made yet{unmade_pods.hint(state, now)}"
    stuck = next((pod for pod in state.pods if not pod.scheduled and pod.message), None)
    if stuck is None:
        return ConditionValue("False", Reason.SCHEDULING, message)
    return ConditionValue(
        "False", Reason.UNSCHEDULABLE, f"{message}; {pod_name(state.cluster, stuck)}: {stuck.message}"
    )


def _brokers_ready(state: ReconcileState, progress: ProgressRecords) -> ConditionValue:
    early = _no_pods(state)
    if early or follower_readiness.follows(state):
        return early or follower_readiness.brokers_ready(state, _stuck_pod(state))
    restarted = node_loss.sentence(progress.node_loss, progress.restarted_jobs)
    return broker_readiness.brokers_ready(state, restarted)


def _stuck_pod(state: ReconcileState) -> str:
    """Return which pod waits, for what, and what to do, as the end of a message; empty where none does."""
    stuck = next((pod for pod in state.pods if pod.scheduled and pod.reason), None)
    if stuck is None:
        return ""
    why = ": ".join(part for part in (stuck.reason, stuck.message) if part)
    return f"; {pod_name(state.cluster, stuck)}: {why}{image_pulls.advice(state.cluster, stuck)}"


def _running(state: ReconcileState, loss: LeadLoss | None) -> ConditionValue:
    early = _no_pods(state)
    if early:
        return early
    if follower_readiness.follows(state):
        return follower_readiness.running(state, _stuck_pod(state))
    if state.brokers is None:
        last = last_report.condition(state, ConditionType.RUNNING)
        return unchanged(last) if last else _pods_running(state, loss)
    note = lead_loss.note(loss, state.cluster) + _halted(state.brokers) + _kept(state.brokers)
    if not state.brokers.running:
        return ConditionValue("False", Reason.JOINING, f"the lead broker waits for the others{note}")
    if document.is_interactive(state.cluster.spec):
        return ConditionValue("True", Reason.READY_FOR_WORK, f"the instance is up and waits for work{note}")
    return ConditionValue("True", Reason.COMMAND_RUNNING, f"the main command runs{note}")


def _halted(report: BrokerReport) -> str:
    """Return why no jobs start, as the end of a message: a queue is stopped, or the disk is full."""
    return f"; no jobs start: {'; '.join(report.halted)}" if report.halted else ""


def _kept(report: BrokerReport) -> str:
    """Return which jobs wait for a larger instance, as the end of a message."""
    return f"; jobs that do not fit into it are kept: {'; '.join(report.kept)}" if report.kept else ""


def _pods_running(state: ReconcileState, loss: LeadLoss | None) -> ConditionValue:
    """Return the condition Running by the pods, as long as the lead broker has not reported."""
    running = sum(pod.phase == "Running" for pod in state.pods)
    message = f"{running} of {state.size} pods run"
    stuck = _stuck_pod(state)
    lost = lead_loss.condition(loss, state.cluster, f"{message}{stuck}")
    if lost:
        return lost
    if running >= state.size:
        return _unreported(state, message)
    if stuck:
        return ConditionValue("False", Reason.PODS_STUCK, f"{message}{stuck}")
    if lead_loss.is_replaced(state):
        return ConditionValue("False", Reason.LEAD_REPLACED, f"{message} again: the lead's pod was replaced")
    return ConditionValue("False", Reason.PODS_STARTING, message)


def _unreported(state: ReconcileState, message: str) -> ConditionValue:
    """Return the condition Running where all pods run, and the lead has not reported.

    A lead that starts will report soon, and takes no work before: that is not running. One without a report
    for some seconds counts as running: its lead API may be unreachable, or its image may have none.
    """
    previous = state.previous(ConditionType.RUNNING, "True")
    if state.unreachable_reason or (previous is not None and previous.reason == Reason.PODS_RUNNING):
        return ConditionValue("True", Reason.PODS_RUNNING, message)
    if previous is not None:
        return unchanged(previous)
    return ConditionValue("False", Reason.JOINING, f"{message}; the lead broker has not reported yet")


def _no_pods(state: ReconcileState) -> ConditionValue | None:
    """Return why there are no pods and brokers; None where there may be some."""
    if state.outcome is not Completion.NONE:
        return ConditionValue("False", Reason.FINISHED, "the MiniCluster has ended")
    if state.suspended:
        return ConditionValue("False", Reason.HELD_BACK, "the MiniCluster is suspended")
    if state.job is None:
        return ConditionValue("False", Reason.NO_PODS, "the Job does not exist yet")
    return None


def _succeeded(state: ReconcileState) -> ConditionValue:
    if state.outcome is Completion.SUCCEEDED:
        command = "the main command ended with exit code 0"
        ended = "the brokers left their lead" if follower_readiness.follows(state) else command
        return ConditionValue("True", Reason.COMMAND_SUCCEEDED, ended)
    if state.outcome is Completion.FAILED:
        return ConditionValue("False", Reason.FINISHED, "the MiniCluster has failed")
    return _not_finished()


def _failed(state: ReconcileState) -> ConditionValue:
    if state.outcome is Completion.SUCCEEDED:
        return ConditionValue("False", Reason.FINISHED, "the MiniCluster has succeeded")
    if state.outcome is Completion.FAILED:
        return _failure(state)
    return _not_finished()


def _failure(state: ReconcileState) -> ConditionValue:
    previous = state.previous(ConditionType.FAILED, "True")
    if previous is not None and (previous.reason != Reason.JOB_FAILED or not state.exit_code):
        return unchanged(previous)
    if previous is not None:
        return _command_failed(state)  # the lead's pod reported its end after the Job had reported its own
    cause = next(each for each in state.job_conditions if each.type in {"Failed", "FailureTarget"})
    if cause.reason == "DeadlineExceeded":
        seconds = state.cluster.spec.deadline_seconds
        return ConditionValue(
            "True", Reason.DEADLINE_EXCEEDED, f"not finished within {seconds} s (spec.deadlineSeconds)"
        )
    if cause.reason == "BackoffLimitExceeded":
        limit = state.cluster.spec.backoff_limit
        message = f"more than {limit} pods were lost (spec.backoffLimit): {cause.message}{_killed(state)}"
        return ConditionValue("True", Reason.TOO_MANY_LOST_PODS, message)
    if state.exit_code:
        return _command_failed(state)
    message = f"the Job failed: {cause.message or cause.reason}{_killed(state)}"
    if state.lead and state.lead.refusal:
        message = f"the lead could not start: {state.lead.refusal}"
    return ConditionValue("True", Reason.JOB_FAILED, message)


def _command_failed(state: ReconcileState) -> ConditionValue:
    message = f"the main command ended with exit code {state.exit_code}{_killed(state)}"
    return ConditionValue("True", Reason.COMMAND_FAILED, message)


def _killed(state: ReconcileState) -> str:
    """Return which pods were killed for memory, as the end of a message."""
    found = few([pod_name(state.cluster, pod) for pod in state.pods if pod.out_of_memory])
    return f"; killed for memory (OOMKilled): {found}; raise resources.limits.memory" if found else ""


def _not_finished() -> ConditionValue:
    return ConditionValue("False", Reason.NOT_FINISHED, "the MiniCluster has not ended")


def _suspended(state: ReconcileState) -> ConditionValue:
    save = saves.condition(state.saving, state.cluster)
    if save is not None and state.outcome is Completion.NONE and not state.suspended:
        return save
    if state.outcome is not Completion.NONE or not state.suspended:
        return ConditionValue("False", Reason.NOT_SUSPENDED, "the MiniCluster is not suspended")
    queue = state.cluster.spec.job_labels.get(LABEL_KUEUE_QUEUE)
    if queue:
        return ConditionValue("True", Reason.QUEUED, f"the Job waits for its turn in Kueue's queue {queue}")
    return ConditionValue("True", Reason.SUSPENDED, "suspended; it goes on when spec.suspend is false")
