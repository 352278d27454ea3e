"""Which brokers have joined, as the lead reports, and why the others have not: their pods', and its words."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from broker_config import idset
from minicluster import spec as document
from minicluster.plan import names, node_loss
from minicluster.plan.constants import REPLACED_CODES, ConditionType, Reason
from minicluster.plan.finding import Finding
from minicluster.plan.shrinking import ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.plan.records import BrokerReport, PodReport
    from minicluster.plan.situation import Situation

SHOWN = 5
"""How many different reasons a message names."""
LONGEST = 240
"""Characters of one reason that a message shows: kubelets quote whole answers of registries."""

_LEAVING = "its pod was told to go, and is still there (a node that died holds its pods)"
_COMPLETE = frozenset({Reason.ALL_JOINED, Reason.BROKERS_MISSING, Reason.JOBS_RESTARTED})
_HEARD = _COMPLETE | {Reason.JOINING}


def brokers_ready(situation: Situation) -> Finding:
    """Return whether all brokers have joined, and which are missing, and why."""
    report = situation.brokers
    if report is None:
        told = situation.previous(ConditionType.BROKERS_READY)
        if told is None or not last_word_stands(situation):
            return _silent(situation)
        if told.observed_generation != situation.cluster.metadata.generation:
            # How many there are to be has changed: what was said of the former number is no verdict on it.
            message = "the lead broker has not reported since the document changed"
            return Finding("Unknown", Reason.NOT_REPORTED, message)
        return Finding(told.status, told.reason, told.message)
    count = joined(situation, report)
    message = f"{count} of {situation.size} brokers have joined"
    if count >= situation.size:
        return Finding("True", Reason.ALL_JOINED, message)
    missing = _missing(situation, report)
    if _were_complete(situation):
        again = node_loss.outcome(situation)
        reason = Reason.JOBS_RESTARTED if again else Reason.BROKERS_MISSING
        return Finding("False", reason, f"{message}{missing}{again}")
    needed = document.quorum(situation.cluster.spec)
    return Finding("False", Reason.JOINING, f"{message}; work starts with {needed}{missing}")


def joined(situation: Situation, report: BrokerReport) -> int:
    """Return how many of the wanted brokers have joined; those that are to leave do not count."""
    return sum(rank < situation.size for rank in ranks(report.online))


def last_word_stands(situation: Situation) -> bool:
    """Whether what the lead said last still counts, such as to an operator that has just begun."""
    told, lead = situation.previous(ConditionType.BROKERS_READY), situation.lead
    if told is None or told.reason not in _HEARD or lead is None:
        return False
    return (lead.phase == "Running" and not situation.silence) or _has_finished(lead)


def _has_finished(lead: PodReport) -> bool:
    """Whether the lead ended with the instance, not by being lost: the Job says so in a moment."""
    ended = lead.phase in {"Succeeded", "Failed"} and lead.exit_code is not None
    return ended and lead.exit_code not in REPLACED_CODES


def _silent(situation: Situation) -> Finding:
    lead = situation.lead
    if lead is None or lead.phase != "Running":
        message = f"the lead broker has not reported yet: {_waiting(lead)}"
    else:
        message = situation.silence or "the lead broker has not reported yet"
    return Finding("Unknown", Reason.NOT_REPORTED, message)


def _were_complete(situation: Situation) -> bool:
    """Whether all brokers of this very size had joined before: what lacks now was lost."""
    told = situation.previous(ConditionType.BROKERS_READY)
    return (
        told is not None
        and told.reason in _COMPLETE
        and told.observed_generation == situation.cluster.metadata.generation
    )


def _missing(situation: Situation, report: BrokerReport) -> str:
    """Return which ranks are missing and why, to be put behind a count; those alike are named together."""
    online = ranks(report.online)
    told, others = _troubles(situation, report)
    pods = {pod.index: pod for pod in situation.pods}
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for rank in range(situation.size):
        if rank not in online:
            alike[_why(pods.get(rank), told.get(rank, ""))].append(rank)
    more = f"; the lead says: {'; '.join(map(_cut, others[:SHOWN]))}" if others else ""
    return f"; missing: {_listed(alike)}{more}"


def _listed(alike: Mapping[str, Iterable[int]]) -> str:
    groups = [f"{idset.encode(found)} ({why})" for why, found in alike.items()]
    more = len(groups) - SHOWN
    return ", ".join(groups[:SHOWN]) + (f", and others for {more} more reasons" if more > 0 else "")


def _why(pod: PodReport | None, trouble: str) -> str:
    """Return why a broker is not there: its pod's words as long as that does not run, then the lead's."""
    if pod is None or pod.phase != "Running":
        return _waiting(pod)
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


def _troubles(situation: Situation, report: BrokerReport) -> tuple[dict[int, str], list[str]]:
    """Return what the lead says of the ranks that are wanted, the newest of each, and of others.

    It knows a broker by its host's name, one that it turned away perhaps only by its pod's address.
    """
    known = {names.host(situation.cluster, rank): rank for rank in range(situation.size)}
    known |= {pod.address: pod.index for pod in situation.observed.pods if pod.address}
    of_ranks: dict[int, str] = {}
    others = []
    for trouble in report.troubles:
        who, _, what = trouble.partition(": ")
        if who not in known:
            others.append(trouble)
        else:
            of_ranks.setdefault(known[who], what)
    return of_ranks, others


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
