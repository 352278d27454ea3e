"""From objects as the API server tells them to the records that `plan()` decides on. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from minicluster.kubernetes import last_words
from minicluster.kubernetes.api import APPLY_MANAGER
from minicluster.plan import Disruption, JobCondition, JobReport, ObjectKey, ObservedObject, PodReport
from minicluster.plan.constants import LABEL_COMPONENT, LABEL_INSTANCE, LABEL_POD_INDEX, Component

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from minicluster.plan.fields import Object
    from minicluster.plan.records import PodPhase

ANNOTATION_DIGEST = "minicluster.flux-framework.org/applied"
"""On every object that the operator applies: a digest of what was applied."""

# Of an object's metadata what says which it is: nobody holds that.
_UNHELD = {"name", "namespace", "uid"}
# Maps that count as one field, in the kinds that are applied.
_ATOMIC = {
    "selector",
    "podSelector",
    "nodeSelector",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "scaleTargetRef",
}


@dataclass(frozen=True, slots=True)
class Dependent:
    """An object that exists, and what is needed to see whether it is as the operator applied it.

    `applied` is the digest that it carries, `held` a digest of which fields are still held by the operator
    (whoever changes a field takes it over), `shared` whether somebody else holds fields as well. `shape` is
    a coarser digest of those fields, which the object to be applied has as well (`shape()`).
    """

    key: ObjectKey
    uid: str
    version: int
    instance: str
    owner_uid: str
    owner: str
    applied: str
    held: str
    shape: str
    shared: bool
    going: bool

    def observed(self) -> ObservedObject:
        """Return the record that `plan()` sees."""
        return ObservedObject(self.key, self.owner_uid, self.owner)


def dependent(kind: str, item: Object) -> Dependent:
    """Return the record of an object, of which the metadata is enough."""
    metadata = item["metadata"]
    owner = _controller(metadata)
    entries = [each for each in metadata.get("managedFields") or () if not each.get("subresource")]
    ours = [each for each in entries if _is_ours(each)]
    held = _text([each.get("fieldsV1") for each in ours])
    owner_uid = owner.get("uid", "")
    return Dependent(
        key=ObjectKey(kind, metadata["name"]),
        uid=metadata["uid"],
        version=version(item),
        instance=(metadata.get("labels") or {}).get(LABEL_INSTANCE, ""),
        owner_uid=owner_uid,
        owner=f"{owner['kind']} {owner['name']}" if owner else "",
        applied=(metadata.get("annotations") or {}).get(ANNOTATION_DIGEST, ""),
        held=_short(held),
        shape=_held_shape(held.replace(owner_uid, "") if owner_uid else held),
        shared=len(ours) < len(entries),
        going="deletionTimestamp" in metadata,
    )


def version(item: Object) -> int:
    """Return an object's resourceVersion; those of one kind can be compared (KEP-5504)."""
    return int(item["metadata"].get("resourceVersion") or 0)


def digest(content: Any) -> str:
    """Return a short digest of JSON content."""
    return _short(_text(content))


class Stamp(NamedTuple):
    """As much of a stamped object as tells whether it is the one that was applied."""

    kind: str
    name: str
    digest: str

    def sketch(self) -> Object:
        """Return an object with nothing but that."""
        annotations = {ANNOTATION_DIGEST: self.digest}
        return {"kind": self.kind, "metadata": {"name": self.name, "annotations": annotations}}


def stamp(item: Object) -> Stamp:
    """Return what tells a stamped object from others."""
    metadata = item["metadata"]
    return Stamp(item["kind"], metadata["name"], metadata["annotations"][ANNOTATION_DIGEST])


def stamped(item: Object) -> Object:
    """Return an object to be applied, with the digest of itself as an annotation."""
    metadata = item["metadata"]
    annotations = {**metadata.get("annotations", {}), ANNOTATION_DIGEST: digest(item)}
    return {**item, "metadata": {**metadata, "annotations": annotations}}


def shape(item: Object) -> str:
    """Return the digest of the fields of an object that is to be applied, lists counting as one field."""
    about = {key: value for key, value in item["metadata"].items() if key not in _UNHELD}
    plain = {key: value for key, value in item.items() if key not in {"apiVersion", "kind"}}
    return digest(sorted(_fields({**plain, "metadata": about})))


def is_broker(pod: Object) -> bool:
    """Whether a pod of a MiniCluster is one of its brokers."""
    return (pod["metadata"].get("labels") or {}).get(LABEL_COMPONENT) == Component.BROKER


def controller_uid(item: Object) -> str:
    """Return the uid of an object's controller, empty where it has none."""
    return str(_controller(item["metadata"]).get("uid", ""))


def job_report(job: Object) -> JobReport:
    """Return what a Job says."""
    spec, status = job["spec"], job.get("status") or {}
    return JobReport(
        parallelism=spec.get("parallelism", 0),
        active=status.get("active", 0),
        suspended=bool(spec.get("suspend")),
        conditions=tuple(_job_condition(each) for each in status.get("conditions") or ()),
        start_time=_time(status.get("startTime")),
        completion_time=_time(status.get("completionTime")),
    )


def pod_report(pod: Object) -> PodReport:
    """Return what a broker pod says; the runner is its first container."""
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
        dump=last_words.dump(ended) if index == 0 else None,
        refusal=last_words.refusal(ended),
    )


def disrupted(pod: Object) -> Disruption | None:
    """Return how a pod is taken away (condition DisruptionTarget); None where it is not."""
    status = pod.get("status") or {}
    started = _time(status.get("startTime"))
    for each in status.get("conditions") or ():
        if each["type"] == "DisruptionTarget" and each["status"] == "True" and started:
            return Disruption(_index(pod), started, _time(each.get("lastTransitionTime")) or started)
    return None


def is_creating(pod: Object) -> bool:
    """Whether a pod has a node and its first containers are being made, of which its status says nothing."""
    status = pod.get("status") or {}
    if not pod["spec"].get("nodeName") or status.get("phase") != "Pending":
        return False
    first = (status.get("initContainerStatuses") or status.get("containerStatuses") or [{}])[0]
    waiting = (first.get("state") or {}).get("waiting") or {}
    return waiting.get("reason") in {None, "", "PodInitializing", "ContainerCreating"}


def pod_order(pod: Object) -> tuple[bool, str, int]:
    """Return what tells which of two pods of one index counts: one that stays, then the younger one."""
    metadata = pod["metadata"]
    return ("deletionTimestamp" not in metadata, metadata.get("creationTimestamp") or "", version(pod))


def _fields(content: Any, name: str = "", path: str = "") -> Iterator[str]:
    if isinstance(content, dict) and content and name not in _ATOMIC:
        for key, value in content.items():
            yield from _fields(value, key, f"{path}.{key}")
    else:
        yield path


@lru_cache(maxsize=256)
def _held_shape(text: str) -> str:
    """Return the shape of what managedFields say; without the owner's uid many objects say the same."""
    trees: list[Object] = json.loads(text)
    return digest(sorted({path for tree in trees for path in _entry_fields(tree or {})}))


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _entry_fields(tree: Object, name: str = "", path: str = "") -> Iterator[str]:
    """Return the fields of a managedFields entry down to lists, whose items are `k:` or `v:`."""
    below = [key for key in tree if key.startswith("f:")]
    if len(below) < len(tree.keys() - {"."}) or not below or name in _ATOMIC:
        yield path
        return
    for key in below:
        yield from _entry_fields(tree[key], key[2:], f"{path}.{key[2:]}")


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == APPLY_MANAGER


def _controller(metadata: Object) -> Object:
    owners: Iterable[Object] = metadata.get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), {})


def _job_condition(said: Object) -> JobCondition:
    return JobCondition(said["type"], said["status"], said.get("reason") or "", said.get("message") or "")


def _index(pod: Object) -> int:
    """Return a pod's index, -1 where it has none: anybody can make a pod with such labels."""
    text = (pod["metadata"].get("labels") or {}).get(LABEL_POD_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else -1


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


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
    """Return why a pod does not run: the scheduler's words, an image that does not come, its own end."""
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
