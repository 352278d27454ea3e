"""The status of a MiniCluster: its conditions with their times, sizes, times, and its phase."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from minicluster import document
from minicluster.document.status import MAX_MESSAGE
from minicluster.plan.brokers.cutting import parts
from minicluster.plan.constants import ConditionType
from minicluster.plan.objects.fields import present
from minicluster.plan.objects.labels import scale_selector
from minicluster.plan.status import (
    broker_readiness,
    conditions,
    dumps,
    follower_readiness,
    last_report,
    saves,
)
from minicluster.plan.status.progress import ProgressRecords
from minicluster.plan.status.reconcile_state import Completion
from minicluster.plan.status.times import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from minicluster.document import MiniCluster, Status
    from minicluster.document.record import Record
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Observed, Saving
    from minicluster.plan.status.condition_value import ConditionValue
    from minicluster.plan.status.reconcile_state import ReconcileState


def build(
    state: ReconcileState,
    progress: ProgressRecords,
    found: Mapping[ConditionType, ConditionValue],
    now: datetime,
) -> Object:
    """Return the whole status. If nothing has changed, it equals the stored one, also in its times."""
    cluster, stored = state.cluster, state.cluster.status
    return present(
        observedGeneration=cluster.metadata.generation,
        phase=conditions.phase(found).value,
        size=-(-state.job.parallelism // parts(cluster)) if state.job else stored.size,
        maximumSize=_maximum_size(cluster),
        selector=scale_selector(cluster),
        readyBrokers=_ready_brokers(state),
        jobid=state.brokers.jobid if state.brokers else stored.jobid,
        queuePolicy=state.brokers.queue_policy if state.brokers else stored.queue_policy,
        lead=_lead(state),
        exitCode=state.exit_code,
        startTime=_start_time(state),
        completionTime=_completion_time(state, now),
        lastDump=dumps.last(state.observed.dump, stored),
        **progress.fields(),
        bursts=[_written(each) for each in stored.bursts],
        granularity=_written(stored.granularity) if stored.granularity else None,
        conditions=_conditions(found, stored, cluster.metadata.generation, now),
    )


def refused(
    stored: Status, generation: int, found: Mapping[ConditionType, ConditionValue], now: datetime
) -> Object:
    """Return the status of a document that is not valid: the stored one with other conditions."""
    return {
        **kept(stored),
        "observedGeneration": generation,
        "phase": conditions.phase(found).value,
        "conditions": _conditions(found, stored, generation, now),
    }


def leaving(cluster: MiniCluster, observed: Observed, saving: Saving, now: datetime) -> Object:
    """Return the status of a MiniCluster that is being deleted: the stored one, but for its save."""
    stored, generation = cluster.status, cluster.metadata.generation
    others = (each for each in stored.restarted_jobs if each.cause != "Save")
    jobs = ProgressRecords(restarted_jobs=(*dumps.jobs(observed.dump, stored), *others))
    known = kept(stored) | present(lastDump=dumps.last(observed.dump, stored))
    known = {key: value for key, value in known.items() if key != "restartedJobs"} | jobs.fields()
    value = saves.condition(saving, cluster)
    if value is None:
        return known
    (saved,) = _conditions({ConditionType.SUSPENDED: value}, stored, generation, now)
    shown = {each["type"]: each for each in known.get("conditions", ())} | {saved["type"]: saved}
    save = ProgressRecords(save=saving.status).fields()
    return {**known, **save, "observedGeneration": generation, "conditions": list(shown.values())}


def kept(stored: Status) -> Object:
    """Return the status as it is stored, but for planning that took too much: it is over."""
    return stored.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"planning"})


def _conditions(
    found: Mapping[ConditionType, ConditionValue], stored: Status, generation: int, now: datetime
) -> list[Object]:
    since = {(each.type, each.status): each.last_transition_time for each in stored.conditions}
    return [
        {
            "type": type_.value,
            "status": value.status,
            "reason": str(value.reason),
            "message": _cut(value.message),
            "observedGeneration": generation,
            "lastTransitionTime": _since(value, since.get((type_, value.status)), now),
        }
        for type_, value in found.items()
    ]


def _written(record: Record) -> Object:
    return record.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _cut(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…"


def _since(value: ConditionValue, stored: str | None, now: datetime) -> str:
    """Return when the status of a condition last changed, or the time that its value has."""
    return timestamp(value.since) if value.since else stored or timestamp(now)


def _maximum_size(cluster: MiniCluster) -> int:
    """Return the limit of growth; 0 as long as it is not known: suspended from the start with size 0."""
    spec = cluster.spec
    return document.max_size(cluster) if spec.size or spec.max_size or cluster.status.maximum_size else 0


def _ready_brokers(state: ReconcileState) -> int:
    if state.outcome is not Completion.NONE or state.suspended:
        return 0
    if follower_readiness.follows(state):
        return follower_readiness.ready(state)
    if state.brokers is None:
        return last_report.ready_brokers(state)
    return broker_readiness.joined(state, state.brokers)


def _lead(state: ReconcileState) -> Object:
    """Return what the lead runs; without a report what it ran last."""
    if state.brokers is None:
        stored = state.cluster.status.lead
        return stored.model_dump(mode="json", exclude_defaults=True) if stored else {}
    return present(**asdict(state.brokers.versions))


def _start_time(state: ReconcileState) -> str | None:
    began = state.job.start_time if state.job else None
    return timestamp(began) if began else state.cluster.status.start_time


def _completion_time(state: ReconcileState, now: datetime) -> str | None:
    if state.cluster.status.completion_time or state.outcome is Completion.NONE:
        return state.cluster.status.completion_time
    ended = state.job.completion_time if state.job else None
    return timestamp(ended or now)
