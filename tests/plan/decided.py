"""Plans of a MiniCluster whose objects all exist, and their status."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minicluster.plan import (
    JobCondition,
    JobReport,
    ObjectKey,
    Observed,
    ObservedObject,
    PodReport,
    Site,
    plan,
)

RUNNING = JobReport(parallelism=4, active=4)
FAILED_STATUS = {
    "conditions": [{"type": "Failed", "status": "True", "reason": "CommandFailed", "message": "exit code 3"}],
    "exitCode": 3,
}

SITE = Site()


def pod(index: int, **fields: Any) -> PodReport:
    return PodReport(index, **{"phase": "Running", "scheduled": True, **fields})


def pods(count: int = 4, **fields: Any) -> tuple[PodReport, ...]:
    return tuple(pod(index, **fields) for index in range(count))


def ended(type_: str, reason: str = "", message: str = "") -> JobReport:
    return JobReport(parallelism=4, conditions=(JobCondition(type_, "True", reason, message),))


def decide(
    make, keys, now, observed: Observed, wanted: Any = None, status: Any = None, site: Site = SITE
) -> Any:
    """Return the plan where all objects exist besides what is observed."""
    cluster = make({"size": 4, **(wanted or {})}, status=status)
    first = plan(cluster, Observed(), site, keys, now)
    found = tuple(
        ObservedObject(ObjectKey(item["kind"], item["metadata"]["name"]), cluster.metadata.uid)
        for item in first.objects
    )
    whole = replace(observed, objects=found)
    return plan(cluster, whole, site, None, now)


def condition(decided: Any, type_: str) -> dict[str, Any]:
    (found,) = (each for each in decided.status["conditions"] if each["type"] == type_)
    return found
