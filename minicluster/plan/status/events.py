"""Events, sent when the reason of a condition changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from minicluster.plan.constants import Reason
from minicluster.plan.records import KubernetesEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.document import Condition
    from minicluster.plan.constants import ConditionType
    from minicluster.plan.status.condition_value import ConditionValue

NOTABLE: Mapping[str, Literal["Normal", "Warning"]] = {
    Reason.INVALID: "Warning",
    Reason.SIZE_OUT_OF_RANGE: "Warning",
    Reason.PLANNING_LIMIT_EXCEEDED: "Warning",
    Reason.CREATED: "Normal",
    Reason.NAME_TAKEN: "Warning",
    Reason.REFUSED: "Warning",
    Reason.UNSCHEDULABLE: "Warning",
    Reason.PODS_STUCK: "Warning",
    Reason.ALL_JOINED: "Normal",
    Reason.BROKERS_MISSING: "Warning",
    Reason.COMMAND_RUNNING: "Normal",
    Reason.READY_FOR_WORK: "Normal",
    Reason.LEAD_LOST: "Warning",
    Reason.COMMAND_SUCCEEDED: "Normal",
    Reason.COMMAND_FAILED: "Warning",
    Reason.DEADLINE_EXCEEDED: "Warning",
    Reason.TOO_MANY_LOST_PODS: "Warning",
    Reason.JOB_FAILED: "Warning",
    Reason.SUSPENDED: "Normal",
    Reason.QUEUED: "Normal",
    Reason.GROWING: "Normal",
    Reason.DRAINING: "Normal",
    Reason.DRAIN_TIMED_OUT: "Warning",
    Reason.JOBS_RESTARTED: "Warning",
    Reason.SHRINKING: "Normal",
    Reason.AT_SIZE: "Normal",
    Reason.NOT_SUSPENDED: "Normal",
    Reason.SAVING: "Normal",
    Reason.SAVE_FAILED: "Warning",
    Reason.SAVED: "Normal",
    Reason.NOT_SAVED: "Warning",
    Reason.NO_BURSTS: "Normal",
    Reason.BURSTS_STARTING: "Normal",
    Reason.BURSTS_ACTIVE: "Normal",
    Reason.BURSTS_ENDING: "Normal",
    Reason.NOT_GUARANTEED: "Warning",
}
"""The reasons for which an Event is sent, each with its type."""

# No Event for a condition that has had such a reason from the start.
_ONLY_AFTER_ANOTHER = frozenset({Reason.AT_SIZE, Reason.NOT_SUSPENDED, Reason.NO_BURSTS})


def of_changes(
    found: Mapping[ConditionType, ConditionValue], stored: Iterable[Condition]
) -> tuple[KubernetesEvent, ...]:
    """Return an Event for each condition whose reason is new and notable."""
    before = {each.type: each.reason for each in stored}
    return tuple(
        KubernetesEvent(NOTABLE[value.reason], Reason(value.reason), value.message)
        for type_, value in found.items()
        if value.reason in NOTABLE and _is_news(value.reason, before.get(type_))
    )


def _is_news(reason: str, before: str | None) -> bool:
    if reason == Reason.SAVED or (reason in _ONLY_AFTER_ANOTHER and before is None):
        return False  # `dumps` sends the Event of a dump, also where no condition is about it
    if (reason, before) == (Reason.SAVING, Reason.SAVE_FAILED):
        return False  # tried again, as announced
    return reason != before
