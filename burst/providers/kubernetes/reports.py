"""What the objects of a burst mean: one phase, with the reason in words. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from burst.joining.tunnel import is_relay
from burst.joining.workers import ANNOTATION_NODES, LABEL_BURST, LABEL_OWNER, ends_of, name_of
from burst.lifecycle.records import ResourceKey, ResourcePhase, ResourceReport
from minicluster.lead_client import termination_message
from minicluster.plan.constants import LABEL_POD_INDEX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from burst.providers.kubernetes.tunnel.records import ReachState, ReachTask
    from burst.providers.provider import WantedBurst

KIND = "workers"
"""The kind of what is made for a burst: all of its objects as one."""
_STUCK = {
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
}
_FOR_GOOD = "forbidden"

KubeObject = dict[str, Any]


class FoundObjects(NamedTuple):
    """What there is of one burst."""

    anchor: KubeObject | None
    others: Sequence[KubeObject] = ()
    """All but the anchor, pods among them."""
    refusals: Sequence[str] = ()
    """Why the Job of its brokers could not make pods, the newest first."""

    @property
    def job(self) -> KubeObject | None:
        """The Job of its brokers."""
        jobs = (each for each in self.others if each["kind"] == "Job")
        return next((each for each in jobs if not is_relay(each)), None)

    @property
    def pods(self) -> list[KubeObject]:
        """The pods of its brokers."""
        return [each for each in self.others if each["kind"] == "Pod" and not is_relay(each)]

    @property
    def relay(self) -> KubeObject | None:
        """The Job of its relay; only a burst with a tunnel has one."""
        return next((each for each in self.others if each["kind"] == "Job" and is_relay(each)), None)

    @property
    def relay_pods(self) -> list[KubeObject]:
        """The pods of its relay."""
        return [each for each in self.others if each["kind"] == "Pod" and is_relay(each)]

    @property
    def all(self) -> list[KubeObject]:
        """Everything."""
        return [*([self.anchor] if self.anchor is not None else ()), *self.others]


def is_of(item: KubeObject, wanted: WantedBurst) -> bool:
    """Return whether an object is one of a burst."""
    labels = item["metadata"].get("labels") or {}
    return (labels.get(LABEL_BURST), labels.get(LABEL_OWNER)) == (wanted.label, wanted.installation)


def is_going(item: KubeObject) -> bool:
    """Return whether an object is being deleted."""
    return "deletionTimestamp" in item["metadata"]


def unowned(found: FoundObjects) -> list[KubeObject]:
    """Return objects that hang on nothing any more, and are not being deleted."""
    alive = {each["metadata"]["uid"] for each in found.all}
    return [
        each
        for each in found.others
        if not is_going(each) and not any(owner["uid"] in alive for owner in _owners(each))
    ]


def _owners(item: KubeObject) -> Sequence[KubeObject]:
    return item["metadata"].get("ownerReferences") or ()


def report(key: ResourceKey, found: FoundObjects, wanted: WantedBurst) -> ResourceReport:
    """Return a burst's status."""
    if not found.all:
        return ResourceReport(key, ResourcePhase.ABSENT)
    phase, reason = _phase(found, key.nodes)
    since = min(_created(each) for each in found.all)
    return ResourceReport(key, phase, reason, wanted.label, wanted.installation, since)


def listed(label: str, installation: str, found: FoundObjects) -> ResourceReport:
    """Return the status of a burst that is only known by its objects."""
    key = ResourceKey(KIND, name_of(label), _nodes(found))
    phase, reason = _phase(found, key.nodes)
    if phase is ResourcePhase.ABSENT:  # something of it is there all the same
        phase = ResourcePhase.BROKEN
    since = min(_created(each) for each in found.all)
    until = max(ends_of(each["metadata"].get("labels") or {}) for each in found.all)
    return ResourceReport(key, phase, reason, label, installation, since, until=until)


def tunnelled(status: ResourceReport, found: FoundObjects, reach: ReachState | None) -> ResourceReport:
    """Return the status of a burst with a tunnel: it is ready only if the tunnel is."""
    if status.phase is not ResourcePhase.READY or (reach is not None and reach.is_ready):
        return status
    if reach is not None and reach.refused and not reach.reached:
        return status._replace(phase=ResourcePhase.BROKEN, reason=f"its tunnel: {reach.problem}")
    waits = [reason for each in found.relay_pods for reason in waits_of(each)]
    problem = reach.problem if reach is not None else ""
    reason = next(iter([*waits, *filter(None, [problem])]), "it is not connected yet")
    return status._replace(phase=ResourcePhase.COMING, reason=f"its tunnel: {reason}")


def reach_left(task: ReachTask) -> ResourceReport:
    """Return the status of a burst of which nothing but the lead's side of its tunnel is there."""
    key = ResourceKey(KIND, name_of(task.label), task.nodes)
    reason = "the lead's side of its tunnel is left"
    return ResourceReport(key, ResourcePhase.BROKEN, reason, task.label, task.installation, task.created)


def _phase(found: FoundObjects, nodes: int) -> tuple[ResourcePhase, str]:
    job = found.job
    # Kubernetes deletes what has an owner that is gone; what names no owner stays for ever.
    lost = [each for each in unowned(found) if not _owners(each)]
    if found.anchor is None and lost:
        return ResourcePhase.BROKEN, f"{_counted(lost)} are left, and hang on nothing"
    if found.anchor is None or is_going(found.anchor) or (job is not None and is_going(job)):
        return ResourcePhase.GOING, f"{_counted(found.all)} are left"
    if job is not None:
        return _progress(found, job, nodes)
    # Not wholly made yet, or the Job has ended some time ago: making it again makes the rest.
    return (ResourcePhase.GOING if found.pods else ResourcePhase.ABSENT), "its Job is not there"


def _progress(found: FoundObjects, job: KubeObject, nodes: int) -> tuple[ResourcePhase, str]:
    for each in found.pods:
        if refusal := _refusal(each):
            return ResourcePhase.BROKEN, f"pod {each['metadata']['name']}: {refusal}"
    if end := _end(job):
        return ResourcePhase.BROKEN, end
    running = {_index(each) for each in found.pods if _runs(each)}
    if len(running) >= nodes:
        return ResourcePhase.READY, ""
    if found.refusals and len(found.pods) < nodes:
        refusal = found.refusals[0]
        phase = ResourcePhase.BROKEN if _FOR_GOOD in refusal else ResourcePhase.COMING
        return phase, f"its Job cannot make pods: {refusal}"
    if job["spec"].get("suspend"):
        return ResourcePhase.COMING, "its Job is suspended"
    reasons = [reason for each in found.pods for reason in waits_of(each)]
    return ResourcePhase.COMING, reasons[0] if reasons else f"{len(running)} of {nodes} pods run"


def _end(job: KubeObject) -> str:
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["status"] == "True" and each["type"] in ("Failed", "FailureTarget"):
            return f"its Job failed: {each.get('reason', '')}: {each.get('message', '')}"
        if each["status"] == "True" and each["type"] == "Complete":
            return "all of its brokers have ended"
    return ""


def _runs(pod: KubeObject) -> bool:
    return bool((pod.get("status") or {}).get("phase") == "Running" and not is_going(pod))


def _refusal(pod: KubeObject) -> str:
    """Return why a broker's start script has given up, where it does not run again."""
    status = pod.get("status") or {}
    for each in status.get("containerStatuses") or ():
        state = each.get("state") or {}
        ended = state.get("terminated") or (each.get("lastState") or {}).get("terminated") or {}
        if "running" not in state and (refusal := termination_message.refusal(ended)):
            return refusal
    return ""


def _index(pod: KubeObject) -> str:
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get(LABEL_POD_INDEX, pod["metadata"]["name"]))


def waits_of(pod: KubeObject) -> Iterator[str]:
    """Yield why a pod does not run."""
    status, name = pod.get("status") or {}, pod["metadata"]["name"]
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False":
            yield f"pod {name} is on no node: {each.get('message', '')}"
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    for each in containers:
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _STUCK:
            yield f"pod {name}, container {each['name']}: {waiting['reason']}: {waiting.get('message', '')}"


def _nodes(found: FoundObjects) -> int:
    if found.anchor is not None:
        text = (found.anchor["metadata"].get("annotations") or {}).get(ANNOTATION_NODES, "")
        if text.isdigit():
            return int(text)
    job = found.job
    if job is not None:
        return int(job["spec"].get("completions") or 0)
    return len({_index(each) for each in found.pods})


def _created(item: KubeObject) -> float:
    return datetime.fromisoformat(item["metadata"]["creationTimestamp"]).timestamp()


def _counted(items: Iterable[KubeObject]) -> str:
    kinds = [each["kind"] for each in items]
    return ", ".join(f"{kinds.count(each)} {each}" for each in sorted(set(kinds)))
