"""Desired and observed state, compared once: every condition is made from this."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.constants import ConditionType
from minicluster.plan.objects import job, names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.document import Condition, MiniCluster
    from minicluster.plan.records import (
        BrokerReport,
        JobCondition,
        JobReport,
        ObjectKey,
        Observed,
        ObservedObject,
        PodReport,
        Resize,
        Saving,
    )


class Completion(Enum):
    """How the MiniCluster ended, if it has."""

    NONE = "none"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True)
class ReconcileState:
    """What the document wants, and what exists."""

    cluster: MiniCluster
    observed: Observed
    wanted: tuple[ObjectKey, ...]
    """Objects that must exist."""
    conflicting: tuple[ObservedObject, ...]
    """Objects with such names that have another owner."""
    missing: tuple[ObjectKey, ...]
    """Wanted objects that do not exist yet."""
    resize: Resize
    """How many pods there are to be now."""
    saving: Saving
    """The save before a suspension."""
    pods: tuple[PodReport, ...]
    """The pods of the wanted ranks, in their order."""

    @property
    def size(self) -> int:
        """The number of brokers in the document."""
        return self.cluster.spec.size

    @property
    def job(self) -> JobReport | None:
        """The Job; None where there is none of ours."""
        return None if self.conflicting else self.observed.job

    @property
    def brokers(self) -> BrokerReport | None:
        """The lead broker's report; None where it has not reported."""
        return self.observed.brokers

    @property
    def unreachable_reason(self) -> str:
        """Why the lead broker does not answer, if it has not for some seconds."""
        return self.observed.unreachable_reason

    @property
    def lead(self) -> PodReport | None:
        """The lead broker's pod; None where there is none, or all follow another MiniCluster's."""
        if document.bursts_out(self.cluster.spec):
            return None
        return next((pod for pod in self.observed.pods if pod.index == 0), None)

    @cached_property
    def outcome(self) -> Completion:
        """How the MiniCluster ended. A stored outcome stays, also when the Job is gone."""
        if self.previous(ConditionType.SUCCEEDED, "True"):
            return Completion.SUCCEEDED
        if self.previous(ConditionType.FAILED, "True"):
            return Completion.FAILED
        conditions = {each.type for each in self.job_conditions}
        if conditions & {"Failed", "FailureTarget"}:
            return Completion.FAILED
        return Completion.SUCCEEDED if conditions & {"Complete", "SuccessCriteriaMet"} else Completion.NONE

    @property
    def ended(self) -> bool:
        """Whether the MiniCluster has ended."""
        return self.outcome is not Completion.NONE

    @property
    def job_conditions(self) -> tuple[JobCondition, ...]:
        """The Job's conditions that hold."""
        conditions = self.job.conditions if self.job else ()
        return tuple(each for each in conditions if each.status == "True")

    @property
    def suspended(self) -> bool:
        """Whether the Job is suspended."""
        return job.is_suspended(self.cluster, self.job)

    @property
    def has_pods(self) -> bool:
        """Whether there is a Job that has not ended and is not suspended."""
        return not self.ended and not self.suspended and self.job is not None

    @property
    def exit_code(self) -> int | None:
        """The main command's exit code, from the termination message of the lead's start script."""
        known = self.cluster.status.exit_code
        if known is not None or self.outcome is Completion.NONE:
            return known
        if self.outcome is Completion.SUCCEEDED:
            return 0
        return _exit_code(self.lead) if self.lead else None

    def previous(self, type_: ConditionType, status: str | None = None) -> Condition | None:
        """Return the stored condition of a type (and status); None where there is none."""
        stored = (each for each in self.cluster.status.conditions if each.type == type_)
        return next((each for each in stored if status in {None, each.status}), None)


def evaluate(
    cluster: MiniCluster, observed: Observed, wanted: Iterable[ObjectKey], resize: Resize, saving: Saving
) -> ReconcileState:
    """Compare what is wanted with what exists."""
    keys = tuple(wanted)
    found = {key: observed.find(key) for key in keys}
    uid = cluster.metadata.uid
    return ReconcileState(
        cluster=cluster,
        observed=observed,
        wanted=keys,
        conflicting=tuple(item for item in found.values() if item is not None and item.owner_uid != uid),
        missing=tuple(key for key, item in found.items() if item is None),
        resize=resize,
        saving=saving,
        pods=tuple(sorted((pod for pod in observed.pods if pod.index < cluster.spec.size), key=_index)),
    )


def pod_name(cluster: MiniCluster, pod: PodReport) -> str:
    """Return the name of a broker pod."""
    return names.host(cluster, pod.index)


def _exit_code(lead: PodReport) -> int | None:
    text = lead.termination_message.strip()
    if lead.refusal:
        return None  # nothing was run
    return int(text) if text.isdecimal() else lead.exit_code


def _index(pod: PodReport) -> int:
    return pod.index
