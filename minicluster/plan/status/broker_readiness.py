"""Which brokers have joined by the lead's report, and why the others have not."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan import ranks
from minicluster.plan.constants import ConditionType, Reason
from minicluster.plan.objects import names
from minicluster.plan.status import image_pulls, last_report
from minicluster.plan.status.condition_value import ConditionValue, unchanged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.plan.records import BrokerReport, PodReport
    from minicluster.plan.status.reconcile_state import ReconcileState

MAX_REASONS = 5
"""How many different reasons a message names."""
MAX_REASON = 240
"""How many characters of a reason a message shows: kubelets quote whole answers of registries."""

_LEAVING = "its pod was told to go, and is still there (a node that died holds its pods)"


def brokers_ready(state: ReconcileState, restarted: str) -> ConditionValue:
    """Return the condition BrokersReady: whether all brokers have joined, which are missing, and why.

    `restarted` is the end of a message about the jobs of lost brokers; empty where none were lost.
    """
    report = state.brokers
    if report is None:
        return _unreported(state)
    count = joined(state, report)
    message = f"{count} of {state.size} {'broker has' if state.size == 1 else 'brokers have'} joined"
    if count >= state.size:
        return ConditionValue("True", Reason.ALL_JOINED, message)
    missing = _missing(state, report)
    if _were_complete(state):
        reason = Reason.JOBS_RESTARTED if restarted else Reason.BROKERS_MISSING
        return ConditionValue("False", reason, f"{message}{missing}{restarted}")
    needed = document.quorum(state.cluster.spec)
    return ConditionValue("False", Reason.JOINING, f"{message}; work starts with {needed}{missing}")


def are_missing(state: ReconcileState) -> bool:
    """Return whether brokers that had joined are lost by the last report."""
    if not state.has_pods or not _were_complete(state):
        return False
    if state.brokers is None:
        return last_report.stands(state)
    return joined(state, state.brokers) < state.size


def joined(state: ReconcileState, report: BrokerReport) -> int:
    """Return how many of the wanted brokers have joined; leaving ones do not count."""
    return ranks.count(ranks.bits(report.online) & ranks.span(0, state.size))


def _unreported(state: ReconcileState) -> ConditionValue:
    """Return the condition without a report: the stored one while the last report counts."""
    last, lead = last_report.condition(state, ConditionType.BROKERS_READY), state.lead
    if last is not None:
        if last.observed_generation == state.cluster.metadata.generation:
            return unchanged(last)
        # The size has changed: the last report does not apply to it.
        message = "the lead broker has not reported since the document changed"
    elif lead is None or lead.phase != "Running":
        message = f"the lead broker has not reported yet: {_waiting(lead)}"
    else:
        message = state.unreachable_reason or "the lead broker has not reported yet"
    return ConditionValue("Unknown", Reason.NOT_REPORTED, message)


def _were_complete(state: ReconcileState) -> bool:
    """Return whether all brokers of this size had joined before, so that missing ones were lost."""
    previous = state.previous(ConditionType.BROKERS_READY)
    return (
        previous is not None
        and previous.reason in last_report.COMPLETE
        and previous.observed_generation == state.cluster.metadata.generation
    )


def _missing(state: ReconcileState, report: BrokerReport) -> str:
    """Return which ranks are missing, by reason, as the end of a message."""
    missing = ranks.span(0, state.size) & ~ranks.bits(report.online)
    with_pods = ranks.of(pod.index for pod in state.pods)
    waited_for = ranks.listed(missing & with_pods)
    reported, others = _troubles(state, report)
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for pod in state.pods:
        if pod.index in waited_for:
            alike[_why(state, pod, reported.get(pod.index, ""))].append(pod.index)
    groups = {why: ranks.of(found) for why, found in alike.items()}
    if without := missing & ~with_pods:
        groups[_waiting(None)] = without
    more = f"; the lead says: {'; '.join(map(_cut, others[:MAX_REASONS]))}" if others else ""
    return f"; missing: {_listed(groups)}{more}"


def _listed(alike: Mapping[str, int]) -> str:
    """Return the groups of ranks, by their lowest rank, each with its reason."""
    ascending = sorted(alike.items(), key=lambda group: group[1] & -group[1])
    groups = [f"{ranks.encode(found)} ({why})" for why, found in ascending]
    more = len(groups) - MAX_REASONS
    return ", ".join(groups[:MAX_REASONS]) + (f", and others for {more} more reasons" if more > 0 else "")


def _why(state: ReconcileState, pod: PodReport, trouble: str) -> str:
    """Return why a broker is missing: its pod's reason, or the lead's reason once the pod runs."""
    if pod.phase != "Running":
        return f"{_waiting(pod)}{image_pulls.advice(state.cluster, pod)}"
    if pod.leaving:
        return "; ".join(part for part in (_cut(trouble), _LEAVING) if part)
    return _cut(trouble) or "its pod runs, it has not joined"


def _waiting(pod: PodReport | None) -> str:
    """Return what a pod that does not run waits for."""
    if pod is None:
        return "no pod yet"
    if pod.reason or pod.message:
        return _cut(": ".join(part for part in (pod.reason, pod.message) if part))
    if pod.phase in {"Succeeded", "Failed"}:
        code = "" if pod.exit_code is None else f" with exit code {pod.exit_code}"
        return f"its pod has ended{code}{f': {_cut(pod.refusal)}' if pod.refusal else ''}"
    return "its pod starts" if pod.scheduled else "its pod has no node yet"


def _troubles(state: ReconcileState, report: BrokerReport) -> tuple[dict[int, str], list[str]]:
    """Return the newest trouble of each wanted rank in the lead's report, and the troubles of others.

    The lead names a broker by its host's name, and a rejected one perhaps only by its pod's address.
    """
    pods = state.observed.pods if report.troubles else ()
    addresses = {pod.address: pod.index for pod in pods if pod.address}
    of_ranks: dict[int, str] = {}
    others = []
    for trouble in report.troubles:
        who, _, what = trouble.partition(": ")
        rank = addresses.get(who, _rank(state, who))
        if rank is None:
            others.append(trouble)
        else:
            of_ranks.setdefault(rank, what)
    return of_ranks, others


def _rank(state: ReconcileState, host: str) -> int | None:
    """Return the wanted rank of a host by its name; None: it is none of this MiniCluster's."""
    number = host.rpartition("-")[2]
    if not number.isdecimal() or len(number) > len(str(state.size)):
        return None
    rank = int(number)
    return rank if rank < state.size and host == names.host(state.cluster, rank) else None


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_REASON else f"{line[: MAX_REASON - 1]}…"
