"""How the MiniCluster is, worked out once from what exists: the ground on which conditions stand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from minicluster.plan import job, names
from minicluster.plan.constants import ConditionType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.plan.records import (
        BrokerReport,
        JobCondition,
        JobReport,
        ObjectKey,
        Observed,
        ObservedObject,
        PodReport,
    )
    from minicluster.plan.saving import Saving
    from minicluster.plan.shrinking import Resize
    from minicluster.spec import Condition, MiniCluster


class Outcome(Enum):
    """How the MiniCluster ended, if it has."""

    NONE = "none"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Situation:
    """What the document wants beside what exists.

    `wanted` are the objects that must exist, `foreign` those of such a name that somebody else owns,
    `missing` those that are still to be made; `resize` says which pods there are to be, `saving` what goes
    before a suspension.
    """

    cluster: MiniCluster
    observed: Observed
    wanted: tuple[ObjectKey, ...]
    foreign: tuple[ObservedObject, ...]
    missing: tuple[ObjectKey, ...]
    resize: Resize
    saving: Saving

    @property
    def size(self) -> int:
        """The number of brokers that the document asks for."""
        return self.cluster.spec.size

    @property
    def job(self) -> JobReport | None:
        """The Job, where there is one of ours."""
        return None if self.foreign else self.observed.job

    @property
    def brokers(self) -> BrokerReport | None:
        """What the lead broker said, where it said something."""
        return self.observed.brokers

    @property
    def silence(self) -> str:
        """Why the lead broker is not heard, once that has lasted."""
        return self.observed.silence

    @property
    def pods(self) -> tuple[PodReport, ...]:
        """The pods of the wanted ranks, in their order."""
        return tuple(sorted((pod for pod in self.observed.pods if pod.index < self.size), key=_index))

    @property
    def lead(self) -> PodReport | None:
        """The lead broker's pod, where there is one."""
        return next((pod for pod in self.observed.pods if pod.index == 0), None)

    @property
    def outcome(self) -> Outcome:
        """How it ended. What the status has said once stays, also when the Job is gone."""
        if self.previous(ConditionType.SUCCEEDED, "True"):
            return Outcome.SUCCEEDED
        if self.previous(ConditionType.FAILED, "True"):
            return Outcome.FAILED
        conditions = {each.type for each in self.job_conditions}
        if conditions & {"Failed", "FailureTarget"}:
            return Outcome.FAILED
        return Outcome.SUCCEEDED if conditions & {"Complete", "SuccessCriteriaMet"} else Outcome.NONE

    @property
    def ended(self) -> bool:
        """Whether it has."""
        return self.outcome is not Outcome.NONE

    @property
    def job_conditions(self) -> tuple[JobCondition, ...]:
        """The Job's conditions that hold."""
        conditions = self.job.conditions if self.job else ()
        return tuple(each for each in conditions if each.status == "True")

    @property
    def suspended(self) -> bool:
        """Whether the Job is held back."""
        return is_suspended(self.cluster, self.job)

    @property
    def exit_code(self) -> int | None:
        """The main command's exit code, which the lead's start script leaves as its termination message."""
        known = self.cluster.status.exit_code
        if known is not None or self.outcome is Outcome.NONE:
            return known
        if self.outcome is Outcome.SUCCEEDED:
            return 0
        return _told_code(self.lead) if self.lead else None

    def previous(self, type_: ConditionType, status: str | None = None) -> Condition | None:
        """Return the stored condition of that type, where there is one (of that status)."""
        stored = (each for each in self.cluster.status.conditions if each.type == type_)
        return next((each for each in stored if status in {None, each.status}), None)


def assess(
    cluster: MiniCluster, observed: Observed, wanted: Iterable[ObjectKey], resize: Resize, saving: Saving
) -> Situation:
    """Compare what is wanted with what exists."""
    keys = tuple(wanted)
    found = {key: observed.find(key) for key in keys}
    uid = cluster.metadata.uid
    return Situation(
        cluster=cluster,
        observed=observed,
        wanted=keys,
        foreign=tuple(item for item in found.values() if item is not None and item.owner_uid != uid),
        missing=tuple(key for key, item in found.items() if item is None),
        resize=resize,
        saving=saving,
    )


def is_suspended(cluster: MiniCluster, observed: JobReport | None) -> bool:
    """Whether the Job is held back: as it says itself, or, before it exists, as it will be made."""
    if observed is not None:
        return observed.suspended
    return cluster.spec.suspend or job.held_by_kueue(cluster)


def pod_name(cluster: MiniCluster, pod: PodReport) -> str:
    """Return what people call a broker pod."""
    return names.host(cluster, pod.index)


def _told_code(lead: PodReport) -> int | None:
    text = lead.termination_message.strip()
    if lead.refusal:
        return None  # nothing was run
    return int(text) if text.isdecimal() else lead.exit_code


def _index(pod: PodReport) -> int:
    return pod.index
