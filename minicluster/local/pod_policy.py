"""What to do when a container ends: the Job's pod failure policy, read from the plan's Job. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minicluster.local.records import EndedContainer

MIN_BACK_OFF = 0.25
MAX_BACK_OFF = 8.0
"""Seconds before a pod is replaced, doubled each time. Kubernetes begins with 10 s."""


class Verdict(enum.Enum):
    """What to do about a pod whose container ended."""

    DONE = "done"  # nothing: it ended as it should
    REPLACE = "replace"  # start it again
    FAIL = "fail"  # the cluster has failed


@dataclass(frozen=True, slots=True)
class PodPolicy:
    """The Job's rules for ended pods."""

    backoff_limit: int
    """How often a lost pod is replaced."""
    counted: frozenset[int]
    """The exit codes of lost pods; any other one but 0 fails the cluster at once."""
    restart_always: bool = False

    def verdict(self, ended: EndedContainer, losses: int) -> Verdict:
        """Return what to do about an ended container, after `losses` lost pods before it."""
        if ended.code == 0:
            return Verdict.DONE
        if ended.pod.rank is None or self.restart_always:
            return Verdict.REPLACE
        if ended.code not in self.counted:
            return Verdict.FAIL
        return Verdict.REPLACE if losses < self.backoff_limit else Verdict.FAIL


def of_job(job: dict[str, Any]) -> PodPolicy:
    """Return the rules of a planned Job."""
    spec = job["spec"]
    rules = spec.get("podFailurePolicy", {}).get("rules", [])
    counted = [
        code
        for rule in rules
        if rule["action"] == "Count" and "onExitCodes" in rule
        for code in rule["onExitCodes"]["values"]
    ]
    always = spec["template"]["spec"].get("restartPolicy") == "OnFailure"
    return PodPolicy(spec.get("backoffLimit", 6), frozenset(counted), always)


def back_off(times: int) -> float:
    """Return how many seconds to wait before a pod is replaced for the nth time, from 0."""
    return float(min(MIN_BACK_OFF * 2 ** min(times, 16), MAX_BACK_OFF))
