"""The status of a MiniCluster: its conditions with their times, sizes, times, and one word for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import spec as document
from minicluster.plan import conditions, dumps, joining
from minicluster.plan.constants import ConditionType
from minicluster.plan.fields import present
from minicluster.plan.labels import scale_selector
from minicluster.plan.situation import Outcome
from minicluster.plan.times import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from minicluster.plan.fields import Object
    from minicluster.plan.finding import Finding
    from minicluster.plan.records import Observed
    from minicluster.plan.situation import Situation
    from minicluster.spec import MiniCluster, Status


def build(situation: Situation, found: Mapping[ConditionType, Finding], now: datetime) -> Object:
    """Return the whole status. Where nothing changed it equals the stored one, also in its times."""
    cluster, stored = situation.cluster, situation.cluster.status
    return present(
        observedGeneration=cluster.metadata.generation,
        phase=conditions.phase(found).value,
        size=situation.job.parallelism if situation.job else stored.size,
        maximumSize=_maximum_size(cluster),
        selector=scale_selector(cluster),
        readyBrokers=_ready_brokers(situation),
        jobid=situation.brokers.jobid if situation.brokers else stored.jobid,
        queuePolicy=situation.brokers.queue_policy if situation.brokers else stored.queue_policy,
        exitCode=situation.exit_code,
        startTime=_start_time(situation),
        completionTime=_completion_time(situation, now),
        lastDump=dumps.last(situation.observed.dump, stored),
        conditions=_conditions(found, stored, cluster.metadata.generation, now),
    )


def refused(stored: Status, generation: int, found: Mapping[ConditionType, Finding], now: datetime) -> Object:
    """Return the status of a document that is not valid: what was known stays."""
    return {
        **kept(stored),
        "observedGeneration": generation,
        "phase": conditions.phase(found).value,
        "conditions": _conditions(found, stored, generation, now),
    }


def leaving(cluster: MiniCluster, observed: Observed, saving: Finding | None, now: datetime) -> Object:
    """Return the status of a MiniCluster that is being deleted: what was known stays, but for its saving."""
    stored, generation = cluster.status, cluster.metadata.generation
    known = kept(stored) | present(lastDump=dumps.last(observed.dump, stored))
    if saving is None:
        return known
    (told,) = _conditions({ConditionType.SUSPENDED: saving}, stored, generation, now)
    shown = {each["type"]: each for each in known.get("conditions", ())} | {told["type"]: told}
    return {**known, "observedGeneration": generation, "conditions": list(shown.values())}


def kept(stored: Status) -> Object:
    """Return the status as it is stored."""
    return stored.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _conditions(
    found: Mapping[ConditionType, Finding], stored: Status, generation: int, now: datetime
) -> list[Object]:
    since = {(each.type, each.status): each.last_transition_time for each in stored.conditions}
    return [
        {
            "type": type_.value,
            "status": finding.status,
            "reason": str(finding.reason),
            "message": finding.message,
            "observedGeneration": generation,
            "lastTransitionTime": _since(finding, since.get((type_, finding.status)), now),
        }
        for type_, finding in found.items()
    ]


def _since(finding: Finding, told: str | None, now: datetime) -> str:
    """Return when a status last changed, or from when its reason counts."""
    return timestamp(finding.since) if finding.since else told or timestamp(now)


def _maximum_size(cluster: MiniCluster) -> int:
    """Return the limit of growth, 0 as long as nothing says it: suspended from the start, with size 0."""
    spec = cluster.spec
    return document.max_size(cluster) if spec.size or spec.max_size or cluster.status.maximum_size else 0


def _ready_brokers(situation: Situation) -> int:
    if situation.outcome is not Outcome.NONE or situation.suspended:
        return 0
    if situation.brokers is None:
        stands = joining.last_word_stands(situation)
        return min(situation.cluster.status.ready_brokers, situation.size) if stands else 0
    return joining.joined(situation, situation.brokers)


def _start_time(situation: Situation) -> str | None:
    began = situation.job.start_time if situation.job else None
    return timestamp(began) if began else situation.cluster.status.start_time


def _completion_time(situation: Situation, now: datetime) -> str | None:
    if situation.cluster.status.completion_time or situation.outcome is Outcome.NONE:
        return situation.cluster.status.completion_time
    ended = situation.job.completion_time if situation.job else None
    return timestamp(ended or now)
