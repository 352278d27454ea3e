"""The state of an API server in memory: objects, the managers of their fields, and the history of changes.

It does what the operator depends on, and tests/kubernetes/api/test_contract.py compares it with the real one.
There is no other validation, few defaults, and no controller: see memory_jobs.py for Jobs. Returned objects
are shared: do not change them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.objects import JsonPatch, ObjectReference
from tests.operator.field_sets import (
    UNOWNED,
    Fields,
    Object,
    changes,
    fields,
    merge,
    merge_patch,
    rendered,
    without,
)
from tests.operator.memory_history import Clock, History
from tests.operator.memory_objects import matches, reference_of, shown

HAVE_STATUS = {"MiniCluster", "Job", "Pod", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"}
HAVE_GENERATION = {"MiniCluster", "Job", "Pod", "NetworkPolicy", "PodDisruptionBudget"}
# The immutable fields of a Job; `completions` changes together with `parallelism`.
FIXED_IN_JOBS = ("completionMode", "podFailurePolicy", "selector", "successPolicy", "template")
FIXED_IF_IMMUTABLE = ("data", "immutable")
# Some fields of specifications that have defaults. Who creates an object owns them, who applies it does not.
DEFAULTS: dict[str, Object] = {
    "Job": {"suspend": False, "manualSelector": False},
    "Service": {"internalTrafficPolicy": "Cluster", "sessionAffinity": "None", "type": "ClusterIP"},
}


class Hold(NamedTuple):
    """The manager of fields, and the operation and subresource by which they were written."""

    manager: str
    operation: str
    subresource: str = ""


@dataclass(slots=True)
class Store:
    """Objects by reference, the managers of their fields, and all changes."""

    objects: dict[ObjectReference, Object] = field(default_factory=dict)
    history: History = field(default_factory=History)
    clock: Clock = field(default_factory=Clock)
    _field_sets: dict[ObjectReference, dict[Hold, Fields]] = field(default_factory=dict)
    _ending: set[str] = field(default_factory=set)
    _uids: int = 0

    def read(self, reference: ObjectReference) -> Object:
        """Return an object."""
        if reference not in self.objects:
            raise ApiError(404, "NotFound", f"{shown(reference)} not found")
        return self.objects[reference]

    def find(self, kind: str, namespace: str = "", labels: str = "") -> list[Object]:
        """Return the objects of a kind that a selector matches, in the order of their names."""
        found = (
            reference
            for reference in self.objects
            if reference.kind == kind and namespace in {"", reference.namespace}
        )
        items = (self.objects[reference] for reference in sorted(found))
        return [item for item in items if matches(item, labels)]

    def create(self, item: Object, manager: str) -> Object:
        """Create an object."""
        reference = reference_of(item)
        if reference in self.objects:
            raise ApiError(409, "AlreadyExists", f"{shown(reference)} already exists")
        metadata = item["metadata"]
        if "resourceVersion" in metadata:
            raise ApiError(400, "BadRequest", "resourceVersion should not be set on objects to be created")
        new = _defaulted(_without_status(item))
        return self._insert(reference, new, Hold(manager, "Update"), fields(new))

    def apply(self, item: Object, manager: str) -> Object:
        """Apply an object on the server's side, with force."""
        reference, hold, applied = reference_of(item), Hold(manager, "Apply"), fields(item)
        live = self.objects.get(reference)
        if live is None:
            if "uid" in item["metadata"]:
                raise _conflict(reference, "it was to have a uid, and there is none")
            return self._insert(reference, _without_status(item), hold, applied)
        _check(reference, live, item["metadata"])
        others = {
            each: field_sets for each, field_sets in self._field_sets[reference].items() if each != hold
        }
        theirs = frozenset[tuple[str, ...]]().union(*others.values())
        left = self._field_sets[reference].get(hold, frozenset()) - applied - theirs
        new = without(
            merge(live, _applied(item)), frozenset(each for each in left if not _above(each, theirs))
        )
        new = _with_status(new, live, reference.kind)
        changed, gone = changes(live, new)
        field_sets = {each: fields_ - ((changed & applied) | gone) for each, fields_ in others.items()}
        return self._commit(reference, live, new, {**field_sets, hold: applied})

    def adopt(self, reference: ObjectReference, operations: JsonPatch) -> Object:
        """Have the fields of an entry of managedFields count as applied: the one JSON patch there is."""
        live = self.read(reference)
        entry, version = operations
        number = int(entry["path"].split("/")[3])
        _check(reference, live, {"resourceVersion": version["value"]})
        created = sorted(self._field_sets[reference], key=_rank)[number]
        field_sets = {
            each._replace(operation=entry["value"]) if each == created else each: fields
            for each, fields in self._field_sets[reference].items()
        }
        return self._commit(reference, live, live, field_sets)

    def patch(self, reference: ObjectReference, body: Object, manager: str, subresource: str = "") -> Object:
        """Merge into an object, or into its status alone."""
        live = self.read(reference)
        message = body.get("metadata", {})
        if subresource == "status":  # a uid is not compared there
            message = {key: value for key, value in message.items() if key != "uid"}
        _check(reference, live, message)
        merged = merge_patch(live, body)
        if subresource == "status":
            merged = {**live, "status": merged.get("status", {})}
        else:
            merged = _with_status(merged, live, reference.kind)
        return self._update(reference, live, merged, Hold(manager, "Update", subresource))

    def replace(self, item: Object, manager: str) -> Object:
        """Replace an object."""
        reference = reference_of(item)
        live = self.read(reference)
        _check(reference, live, item["metadata"])
        return self._update(
            reference, live, _with_status(item, live, reference.kind), Hold(manager, "Update")
        )

    def delete(self, reference: ObjectReference, uid: str = "") -> Object:
        """Delete an object; one that has finalizers only begins to go. Return it."""
        live = self.read(reference)
        if uid and live["metadata"]["uid"] != uid:
            message = f"UID in precondition: {uid}, UID in object meta: {live['metadata']['uid']}"
            raise _conflict(reference, f"Precondition failed: {message}")
        if not live["metadata"].get("finalizers"):
            return self._remove(reference)
        if "deletionTimestamp" in live["metadata"]:
            return live
        going = {**live, "metadata": {**live["metadata"], "deletionTimestamp": self.clock.text()}}
        return self._commit(reference, live, going, self._field_sets[reference])

    def collect_garbage(self) -> int:
        """Delete the objects whose owners are all gone, and theirs; return how many."""
        count = 0
        while lost := _orphans(self.objects):
            for reference in lost:
                self.delete(reference)
            count += len(lost)
        return count

    def terminate_namespace(self, namespace: str) -> None:
        """Let a namespace refuse new objects."""
        self._ending.add(namespace)

    def _insert(self, reference: ObjectReference, item: Object, hold: Hold, fields: Fields) -> Object:
        if reference.namespace in self._ending:
            namespace = reference.namespace
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise ApiError(403, "Forbidden", f"{shown(reference)} is forbidden: {why}")
        self._uids += 1
        about = {
            "uid": f"{self._uids:08x}-0000-4000-8000-000000000000",
            "creationTimestamp": self.clock.text(),
        }
        new = {**item, "metadata": {**item["metadata"], **about}}
        if reference.kind in HAVE_GENERATION:
            new["metadata"]["generation"] = 1
        return self._commit(reference, None, new, {hold: fields})

    def _update(self, reference: ObjectReference, live: Object, new: Object, hold: Hold) -> Object:
        changed, gone = changes(live, new)
        mine = self._field_sets[reference].get(hold, frozenset())
        others = {
            each: field_sets - changed - gone
            for each, field_sets in self._field_sets[reference].items()
            if each != hold
        }
        return self._commit(reference, live, new, {**others, hold: (mine | changed) - gone})

    def _commit(
        self, reference: ObjectReference, old: Object | None, new: Object, field_sets: dict[Hold, Fields]
    ) -> Object:
        """Store an object, unless nothing about it is new."""
        field_sets = {each: fields for each, fields in field_sets.items() if fields}
        new = _defaulted(new)
        if old is not None:
            new = {**new, "metadata": {**new["metadata"], **_kept(old)}}
            _check_fixed(reference, old, new)
            _check_finalizers(reference, old, new)
            if field_sets == self._field_sets[reference] and new == old:
                return old
        metadata = new["metadata"]
        if old is not None and reference.kind in HAVE_GENERATION and _is_changed(old, new):
            metadata["generation"] += 1
        self._field_sets[reference] = field_sets
        metadata["managedFields"] = [
            _entry(new, hold, field_sets[hold]) for hold in sorted(field_sets, key=_rank)
        ]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            return self._remove(reference)
        self.objects[reference] = new
        self.history.record(reference, old, new)
        return new

    def _remove(self, reference: ObjectReference) -> Object:
        gone = self.objects.pop(reference)
        del self._field_sets[reference]
        self.history.record(reference, gone, None)
        return gone


def _orphans(objects: Mapping[ObjectReference, Object]) -> list[ObjectReference]:
    """Return the objects whose owners are all gone."""
    uids = {item["metadata"]["uid"] for item in objects.values()}
    return [reference for reference, item in objects.items() if _is_orphan(item, uids)]


def _is_orphan(item: Object, uids: set[str]) -> bool:
    owners = {each["uid"] for each in item["metadata"].get("ownerReferences") or ()}
    going = "deletionTimestamp" in item["metadata"]
    return bool(owners) and not going and owners.isdisjoint(uids)


def _check(reference: ObjectReference, live: Object, message: Object) -> None:
    """Raise ApiError where a given uid or version is not the object's."""
    if message.get("uid", live["metadata"]["uid"]) != live["metadata"]["uid"]:
        there = live["metadata"]["uid"]
        wrong = f"Precondition failed: UID in precondition: {message['uid']}, UID in object meta: {there}"
        raise _conflict(reference, wrong)
    if message.get("resourceVersion", live["metadata"]["resourceVersion"]) != _version(live):
        modified = "the object has been modified; please apply your changes to the latest version"
        raise _conflict(reference, f"{modified} and try again")


def _conflict(reference: ObjectReference, why: str) -> ApiError:
    return ApiError(409, "Conflict", f"Operation cannot be fulfilled on {shown(reference)}: {why}")


def _version(item: Object) -> str:
    return str(item["metadata"]["resourceVersion"])


def _defaulted(item: Object) -> Object:
    """Return an object with the defaults of its kind."""
    missing = {key: value for key, value in DEFAULTS.get(item["kind"], {}).items() if key not in item["spec"]}
    return {**item, "spec": {**item["spec"], **missing}} if missing else item


def _without_status(item: Object) -> Object:
    hidden = {"status"} if item["kind"] in HAVE_STATUS else set()
    return {key: value for key, value in item.items() if key not in hidden}


def _with_status(item: Object, live: Object, kind: str) -> Object:
    """Return an object with the status that it had: only a write to /status changes one."""
    if kind not in HAVE_STATUS:
        return item
    status = {"status": live["status"]} if "status" in live else {}
    return {**_without_status(item), **status}


def _applied(item: Object) -> Object:
    message = {key: value for key, value in item["metadata"].items() if key not in {"uid", "resourceVersion"}}
    return {**_without_status(item), "metadata": message}


def _kept(old: Object) -> Object:
    """Return the part of an object's metadata that no client can change."""
    return {name: old["metadata"][name] for name in UNOWNED if name in old["metadata"]}


def _above(path: tuple[str, ...], others: Fields) -> bool:
    """Whether another manager owns a field of this list item."""
    return path[-1].startswith("k:") and any(each[: len(path)] == path for each in others)


def _check_fixed(reference: ObjectReference, old: Object, new: Object) -> None:
    """Raise ApiError where an immutable field changes."""
    before, after = old.get("spec") or {}, new.get("spec") or {}
    if reference.kind == "Job":
        fixed = [f"spec.{name}" for name in FIXED_IN_JOBS if before.get(name) != after.get(name)]
        if before.get("completions") != after.get("completions") != after.get("parallelism"):
            fixed.append("spec.completions")
    elif old.get("immutable"):
        fixed = [name for name in FIXED_IF_IMMUTABLE if old.get(name) != new.get(name)]
    else:
        return
    if fixed:
        wrong = ", ".join(f"{name}: Invalid value: field is immutable" for name in fixed)
        raise ApiError(422, "Invalid", f"{shown(reference)} is invalid: {wrong}")


def _is_changed(old: Object, new: Object) -> bool:
    """Whether the generation changes: the document has changed, or its deletion was requested."""
    begins = "deletionTimestamp" in new["metadata"] and "deletionTimestamp" not in old["metadata"]
    return begins or old.get("spec") != new.get("spec")


def _check_finalizers(reference: ObjectReference, old: Object, new: Object) -> None:
    """Raise ApiError where a finalizer is added once a deletion has begun."""
    before, after = (each["metadata"].get("finalizers") or () for each in (old, new))
    if "deletionTimestamp" in old["metadata"] and set(after) - set(before):
        why = "no new finalizers can be added if the object is being deleted"
        raise ApiError(
            422, "Invalid", f"{shown(reference)} is invalid: metadata.finalizers: Forbidden: {why}"
        )


def _rank(hold: Hold) -> tuple[str, ...]:
    return hold.operation, hold.manager, hold.subresource


def _entry(item: Object, hold: Hold, fields: Fields) -> Object:
    return {
        "manager": hold.manager,
        "operation": hold.operation,
        "apiVersion": item["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": rendered(fields),
        **({"subresource": hold.subresource} if hold.subresource else {}),
    }
