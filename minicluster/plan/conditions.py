"""The conditions of a MiniCluster: each a function from the situation to a status, a reason and a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import spec as document
from minicluster.plan import autoscaler, joining, lead_loss, names, resizing
from minicluster.plan.constants import KIND, LABEL_KUEUE_QUEUE, ConditionType, Phase, Reason
from minicluster.plan.finding import Finding
from minicluster.plan.situation import Outcome, pod_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from minicluster.plan.records import BrokerReport, ObservedObject
    from minicluster.plan.situation import Situation
    from minicluster.spec import Condition


def findings(situation: Situation) -> dict[ConditionType, Finding]:
    """Return what holds about every condition, in the order in which they are shown."""
    scaling = autoscaler.finding(situation)
    only_then = {ConditionType.AUTOSCALING: scaling} if scaling else {}
    return {type_: find(situation) for type_, find in _FINDERS.items()} | only_then


def refused(problem: str, stored: Iterable[Condition]) -> dict[ConditionType, Finding]:
    """Return the conditions of a document that is not valid: of the rest, what was known before stays."""
    unknown = Finding("Unknown", Reason.NOT_CHECKED, "the document is not valid: nothing is done until it is")
    known = {each.type: Finding(each.status, each.reason, each.message) for each in stored}
    return {
        **{
            type_: known.get(type_, unknown)
            for type_ in ConditionType
            if type_ in known or type_ is not ConditionType.AUTOSCALING
        },
        ConditionType.VALID: Finding("False", Reason.INVALID, problem),
    }


def phase(found: Mapping[ConditionType, Finding]) -> Phase:
    """Return the one word for people: the first of these that holds."""
    holds = {type_ for type_, finding in found.items() if finding.status == "True"}
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


def _valid(situation: Situation) -> Finding:
    problem = size_problem(situation)
    if problem:
        return Finding("False", Reason.SIZE_OUT_OF_RANGE, problem)
    return Finding("True", Reason.ACCEPTED, "the document is valid")


def size_problem(situation: Situation) -> str:
    """Return what is wrong with the size, empty if nothing: brokers read the list of hosts only at start."""
    greatest = document.max_size(situation.cluster)
    if situation.size <= greatest:
        return ""
    return (
        f"spec.size is {situation.size}, but the brokers were started with a list of {greatest} hosts; "
        f"set spec.size to at most {greatest}, or make a new MiniCluster with spec.maxSize {situation.size}"
    )


def _resources_created(situation: Situation) -> Finding:
    if situation.outcome is not Outcome.NONE:
        return Finding("True", Reason.CREATED, "all objects were made")
    if situation.foreign and all(_is_predecessors(situation, item) for item in situation.foreign):
        count = len(situation.foreign)
        message = f"the objects of the former MiniCluster of this name are going ({count} left)"
        return Finding("False", Reason.CREATING, message)
    if situation.foreign:
        taken = "; ".join(
            f"{item.key} belongs to {item.owner or 'somebody else'}" for item in situation.foreign
        )
        advice = "rename this MiniCluster (or its network.headlessName), or delete the other object"
        return Finding("False", Reason.NAME_TAKEN, f"{taken}: {advice}")
    refusals = autoscaler.refusals(situation.observed.refusals, of_autoscaler=False)
    if refusals:
        refused = "; ".join(f"{each.key} was refused: {each.message}" for each in refusals)
        return Finding("False", Reason.REFUSED, f"{refused} (it is tried again)")
    if situation.missing:
        return Finding("False", Reason.CREATING, f"{len(situation.wanted)} objects are being made")
    return Finding("True", Reason.CREATED, f"all {len(situation.wanted)} objects exist")


def _is_predecessors(situation: Situation, item: ObservedObject) -> bool:
    """Whether an object was made for a MiniCluster of the same name, which is gone: so will it be."""
    return item.owner.partition(" (")[0] == f"{KIND} {situation.cluster.metadata.name}"


def _pods_scheduled(situation: Situation) -> Finding:
    early = _no_pods(situation)
    if early:
        return early
    placed = sum(pod.scheduled for pod in situation.pods)
    message = f"{placed} of {situation.size} pods have a node"
    if placed >= situation.size:
        return Finding("True", Reason.ALL_SCHEDULED, message)
    lacking = situation.size - len(situation.pods)
    if lacking:
        # Pod Security, or a quota: only Events of the Job say so.
        job = names.job(situation.cluster)
        message = f"{message}; {lacking} not made yet (if it stays so, kubectl describe job {job} says why)"
    stuck = next((pod for pod in situation.pods if not pod.scheduled and pod.message), None)
    if stuck is None:
        return Finding("False", Reason.SCHEDULING, message)
    return Finding(
        "False", Reason.UNSCHEDULABLE, f"{message}; {pod_name(situation.cluster, stuck)}: {stuck.message}"
    )


def _brokers_ready(situation: Situation) -> Finding:
    return _no_pods(situation) or joining.brokers_ready(situation)


def _stuck_pod(situation: Situation) -> str:
    """Return which pod waits, and for what, to be put behind a count; empty where none does."""
    stuck = next((pod for pod in situation.pods if pod.scheduled and pod.reason), None)
    if stuck is None:
        return ""
    why = ": ".join(part for part in (stuck.reason, stuck.message) if part)
    return f"; {pod_name(situation.cluster, stuck)}: {why}"


def _running(situation: Situation) -> Finding:
    early = _no_pods(situation)
    if early:
        return early
    if situation.brokers is None:
        return _as_last_heard(situation) or _pods_running(situation)
    note = lead_loss.note(situation) + _halted(situation.brokers) + _kept(situation.brokers)
    if not situation.brokers.running:
        return Finding("False", Reason.JOINING, f"the lead broker waits for the others{note}")
    if document.is_interactive(situation.cluster.spec):
        return Finding("True", Reason.READY_FOR_WORK, f"the instance is up and waits for work{note}")
    return Finding("True", Reason.COMMAND_RUNNING, f"the main command runs{note}")


def _halted(report: BrokerReport) -> str:
    """Return why no jobs start, to be put behind what it does: a queue was stopped, or the disk is full."""
    return f"; no jobs start: {'; '.join(report.halted)}" if report.halted else ""


def _kept(report: BrokerReport) -> str:
    """Return which jobs wait for a larger instance, to be put behind what it does."""
    return f"; jobs that do not fit into it are kept: {'; '.join(report.kept)}" if report.kept else ""


def _as_last_heard(situation: Situation) -> Finding | None:
    """Return what the lead's last report led to, where that still counts."""
    told = situation.previous(ConditionType.RUNNING)
    if told is None or not joining.last_word_stands(situation):
        return None
    return Finding(told.status, told.reason, told.message)


def _pods_running(situation: Situation) -> Finding:
    """Say what can be said from pods, as long as the lead broker has not reported."""
    running = sum(pod.phase == "Running" for pod in situation.pods)
    message = f"{running} of {situation.size} pods run"
    stuck = _stuck_pod(situation)
    lost = lead_loss.lost(situation, f"{message}{stuck}")
    if lost:
        return lost
    if running >= situation.size:
        return _unheard(situation, message)
    if stuck:
        return Finding("False", Reason.PODS_STUCK, f"{message}{stuck}")
    return Finding("False", Reason.PODS_STARTING, message)


def _unheard(situation: Situation, message: str) -> Finding:
    """Say whether it counts as running that all pods run: only where no more is to be learned.

    A lead that starts will report in a moment, and takes no work before. One that has not been heard for long
    may run all the same: its door cannot be reached, or its image has none.
    """
    told = situation.previous(ConditionType.RUNNING, "True")
    if situation.silence or (told is not None and told.reason == Reason.PODS_RUNNING):
        return Finding("True", Reason.PODS_RUNNING, message)
    if told is not None:
        return Finding("True", told.reason, told.message)
    return Finding("False", Reason.JOINING, f"{message}; the lead broker has not reported yet")


def _no_pods(situation: Situation) -> Finding | None:
    """Return why nothing can be said about pods and brokers, where there are none."""
    if situation.outcome is not Outcome.NONE:
        return Finding("False", Reason.FINISHED, "the MiniCluster has ended")
    if situation.suspended:
        return Finding("False", Reason.HELD_BACK, "the MiniCluster is suspended")
    if situation.job is None:
        return Finding("False", Reason.NO_PODS, "the Job does not exist yet")
    return None


def _succeeded(situation: Situation) -> Finding:
    if situation.outcome is Outcome.SUCCEEDED:
        return Finding("True", Reason.COMMAND_SUCCEEDED, "the main command ended with exit code 0")
    if situation.outcome is Outcome.FAILED:
        return Finding("False", Reason.FINISHED, "the MiniCluster has failed")
    return _not_finished()


def _failed(situation: Situation) -> Finding:
    if situation.outcome is Outcome.SUCCEEDED:
        return Finding("False", Reason.FINISHED, "the MiniCluster has succeeded")
    if situation.outcome is Outcome.FAILED:
        return _failure(situation)
    return _not_finished()


def _failure(situation: Situation) -> Finding:
    told = situation.previous(ConditionType.FAILED, "True")
    if told is not None and (told.reason != Reason.JOB_FAILED or not situation.exit_code):
        return Finding("True", told.reason, told.message)
    if told is not None:
        return _command_failed(situation)  # the lead's pod told its end after the Job had told its own
    cause = next(each for each in situation.job_conditions if each.type in {"Failed", "FailureTarget"})
    if cause.reason == "DeadlineExceeded":
        seconds = situation.cluster.spec.deadline_seconds
        return Finding(
            "True", Reason.DEADLINE_EXCEEDED, f"not finished within {seconds} s (spec.deadlineSeconds)"
        )
    if cause.reason == "BackoffLimitExceeded":
        limit = situation.cluster.spec.backoff_limit
        message = f"more than {limit} pods were lost (spec.backoffLimit): {cause.message}"
        return Finding("True", Reason.TOO_MANY_LOST_PODS, message)
    if situation.exit_code:
        return _command_failed(situation)
    message = f"the Job failed: {cause.message or cause.reason}"
    if situation.lead and situation.lead.refusal:
        message = f"the lead could not start: {situation.lead.refusal}"
    return Finding("True", Reason.JOB_FAILED, message)


def _command_failed(situation: Situation) -> Finding:
    message = f"the main command ended with exit code {situation.exit_code}"
    return Finding("True", Reason.COMMAND_FAILED, message)


def _not_finished() -> Finding:
    return Finding("False", Reason.NOT_FINISHED, "the MiniCluster has not ended")


def _suspended(situation: Situation) -> Finding:
    told = situation.saving.finding
    if told is not None and situation.outcome is Outcome.NONE and not situation.suspended:
        return told
    if situation.outcome is not Outcome.NONE or not situation.suspended:
        return Finding("False", Reason.NOT_SUSPENDED, "the MiniCluster is not suspended")
    queue = situation.cluster.spec.job_labels.get(LABEL_KUEUE_QUEUE)
    if queue:
        return Finding("True", Reason.QUEUED, f"the Job waits for its turn in Kueue's queue {queue}")
    return Finding("True", Reason.SUSPENDED, "suspended; it goes on when spec.suspend is false")


_FINDERS: Mapping[ConditionType, Callable[[Situation], Finding]] = {
    ConditionType.VALID: _valid,
    ConditionType.RESOURCES_CREATED: _resources_created,
    ConditionType.PODS_SCHEDULED: _pods_scheduled,
    ConditionType.BROKERS_READY: _brokers_ready,
    ConditionType.RUNNING: _running,
    ConditionType.SUCCEEDED: _succeeded,
    ConditionType.FAILED: _failed,
    ConditionType.SUSPENDED: _suspended,
    ConditionType.RESIZING: resizing.resizing,
}
