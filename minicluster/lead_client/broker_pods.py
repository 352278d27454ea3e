"""What broker pods report: their state, their end, and what a broker left in its termination message."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from minicluster.kube_client.objects import time_of, version
from minicluster.lead_client import termination_message
from minicluster.plan import Disruption, PodReport
from minicluster.plan.constants import LABEL_COMPONENT, LABEL_POD_INDEX, Component

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import PodPhase


class Lead(NamedTuple):
    """A lead broker that runs."""

    uid: str
    """Of its MiniCluster."""
    pod: str
    """Its pod's UID."""
    address: str
    """Its pod's IP address."""


def is_broker(pod: Object) -> bool:
    """Whether a pod of a MiniCluster is one of its brokers."""
    return (pod["metadata"].get("labels") or {}).get(LABEL_COMPONENT) == Component.BROKER


def pod_report(pod: Object) -> PodReport:
    """Return the state of a broker pod; its first container runs the broker."""
    status = pod.get("status") or {}
    runner = _runner(pod, status.get("containerStatuses") or ())
    ended = _ended(runner)
    reason, message = _why_waiting(status, runner)
    index = _index(pod)
    return PodReport(
        index=index,
        phase=cast("PodPhase", status.get("phase") or "Pending"),
        scheduled=bool(pod["spec"].get("nodeName")),
        reason=reason,
        message=message,
        exit_code=ended.get("exitCode"),
        termination_message=(ended.get("message") or "").strip(),
        address=status.get("podIP") or "",
        leaving="deletionTimestamp" in pod["metadata"],
        dump=termination_message.dump(ended) if index == 0 else None,
        refusal=termination_message.refusal(ended),
        out_of_memory=ended.get("reason") == "OOMKilled",
    )


def disrupted(pod: Object) -> Disruption | None:
    """Return the disruption of a pod, from its condition DisruptionTarget; None where there is none."""
    status = pod.get("status") or {}
    started = time_of(status.get("startTime"))
    for each in status.get("conditions") or ():
        if each["type"] == "DisruptionTarget" and each["status"] == "True" and started:
            return Disruption(_index(pod), started, time_of(each.get("lastTransitionTime")) or started)
    return None


def is_creating(pod: Object) -> bool:
    """Whether a pod has a node and its first containers are being made, without a reason in its status."""
    status = pod.get("status") or {}
    if not pod["spec"].get("nodeName") or status.get("phase") != "Pending":
        return False
    first = (status.get("initContainerStatuses") or status.get("containerStatuses") or [{}])[0]
    waiting = (first.get("state") or {}).get("waiting") or {}
    return waiting.get("reason") in {None, "", "PodInitializing", "ContainerCreating"}


def pod_order(pod: Object) -> tuple[bool, str, int]:
    """Return a sort key for pods of one index: the greatest counts, one that stays, then the younger one."""
    metadata = pod["metadata"]
    return ("deletionTimestamp" not in metadata, metadata.get("creationTimestamp") or "", version(pod))


def _index(pod: Object) -> int:
    """Return a pod's index; -1 where it has none, because any user can make a pod with such labels."""
    text = (pod["metadata"].get("labels") or {}).get(LABEL_POD_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else -1


def _runner(pod: Object, statuses: Iterable[Object]) -> Object:
    containers = pod["spec"].get("containers") or [{}]
    name = containers[0].get("name")
    return next((each for each in statuses if each.get("name") == name), {})


def _ended(runner: Object) -> Object:
    for state in (runner.get("state") or {}, runner.get("lastState") or {}):
        if "terminated" in state:
            found: Object = state["terminated"]
            return found
    return {}


def _why_waiting(status: Object, runner: Object) -> tuple[str, str]:
    """Return reason and message of a pod that does not run: from the scheduler, its containers, or itself."""
    unscheduled = next((each for each in status.get("conditions") or () if _is_unscheduled(each)), None)
    if unscheduled:
        return unscheduled.get("reason") or "", unscheduled.get("message") or ""
    for container in (*(status.get("initContainerStatuses") or ()), runner):
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in {None, "", "PodInitializing", "ContainerCreating"}:
            return waiting["reason"], waiting.get("message") or ""
    return status.get("reason") or "", status.get("message") or ""


def _is_unscheduled(condition: Object) -> bool:
    return bool(condition["type"] == "PodScheduled" and condition["status"] == "False")
