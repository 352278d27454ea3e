"""Makes the records that `plan()` decides on from objects of the API server. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from minicluster.kube_client.api import APPLY_MANAGER
from minicluster.kube_client.objects import controller, time_of, version
from minicluster.kube_client.resources import JOBS, SERVICES
from minicluster.plan import JobCondition, JobReport, ObjectKey, ObservedObject
from minicluster.plan.constants import ANNOTATION_TOKENS, LABEL_INSTANCE
from minicluster.plan.objects.names import FLUX_FILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from minicluster.kube_client.objects import JsonPatch
    from minicluster.plan.objects.fields import Object

ANNOTATION_DIGEST = "minicluster.flux-framework.org/applied"
"""On every object that the operator applies: a digest of what was applied."""

# The metadata that identifies an object: no field manager owns it.
_UNOWNED = {"name", "namespace", "uid"}
# Maps that count as one field, in the kinds that are applied.
_ATOMIC = {
    "selector",
    "podSelector",
    "nodeSelector",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "scaleTargetRef",
}
# Who creates an object also owns its fields with defaults; who applies it does not. These of a Service.
_DEFAULTED = {f".spec.{name}" for name in ("internalTrafficPolicy", "sessionAffinity", "type")}
# The fields of a Job that can be taken out of it; most others are immutable, and many have defaults.
_REMOVABLE = {f".spec.{name}" for name in ("activeDeadlineSeconds", "completions", "parallelism", "suspend")}


@dataclass(frozen=True, slots=True)
class Dependent:
    """An object that exists, with what shows whether it is as the operator applied it."""

    key: ObjectKey
    uid: str
    version: int
    instance: str
    """The name of the MiniCluster in its label."""
    owner_uid: str
    owner: str
    """The controller's kind and name, for messages."""
    applied: str
    """The digest in its annotation: what was applied."""
    owned_fields: str
    """A digest of the fields that the operator owns; another client that changes a field takes it over."""
    shape: str
    """A coarser digest of these fields, to compare with that of an object to apply: with its `shape()`.

    As long as it is as it was created, with its `created_shape()`.
    """
    shared: bool
    """Whether other clients own fields as well."""
    creation: int | None
    """The entry of its managedFields that has what it was created with; None: it has been applied."""
    going: bool
    """Whether it is being deleted."""
    tokens: str = ""
    """The generations of tokens in its annotation, if it has that."""

    def observed(self) -> ObservedObject:
        """Return the record that `plan()` gets."""
        return ObservedObject(self.key, self.owner_uid, self.owner)


def dependent(kind: str, item: Object) -> Dependent:
    """Return the record of an object; only its metadata is read."""
    metadata = item["metadata"]
    owner = controller(metadata)
    entries = [each for each in metadata.get("managedFields") or () if not each.get("subresource")]
    ours = [each for each in entries if _is_ours(each)]
    owned = _text([each.get("fieldsV1") for each in ours])
    owner_uid = owner.get("uid", "")
    creation = _creation(metadata.get("managedFields") or ())
    plain = owned.replace(owner_uid, "") if owner_uid else owned
    return Dependent(
        key=ObjectKey(kind, metadata["name"]),
        uid=metadata["uid"],
        version=version(item),
        instance=(metadata.get("labels") or {}).get(LABEL_INSTANCE, ""),
        owner_uid=owner_uid,
        owner=f"{owner['kind']} {owner['name']}" if owner else "",
        applied=(metadata.get("annotations") or {}).get(ANNOTATION_DIGEST, ""),
        owned_fields=_short(owned),
        shape=_owned_shape(plain, None if creation is None else kind),
        shared=len(ours) < len(entries),
        creation=creation,
        going="deletionTimestamp" in metadata,
        tokens=(metadata.get("annotations") or {}).get(ANNOTATION_TOKENS, ""),
    )


def digest(content: Any) -> str:
    """Return a short digest of JSON content."""
    return _short(_text(content))


class Stamp(NamedTuple):
    """The identity and digest of a stamped object, to compare with what was applied."""

    kind: str
    name: str
    digest: str

    def digest_stub(self) -> Object:
        """Return an object with nothing but these."""
        annotations = {ANNOTATION_DIGEST: self.digest}
        return {"kind": self.kind, "metadata": {"name": self.name, "annotations": annotations}}


def stamp(item: Object) -> Stamp:
    """Return the stamp of a stamped object."""
    metadata = item["metadata"]
    return Stamp(item["kind"], metadata["name"], metadata["annotations"][ANNOTATION_DIGEST])


def stamped(item: Object) -> Object:
    """Return an object to apply, with its own digest as an annotation."""
    metadata = item["metadata"]
    annotations = {**metadata.get("annotations", {}), ANNOTATION_DIGEST: digest(item)}
    return {**item, "metadata": {**metadata, "annotations": annotations}}


def is_written(found: Object) -> bool:
    """Whether an operator has written an object, whatever it looks like now."""
    return any(_is_ours(each) for each in found["metadata"].get("managedFields") or ())


def has_digest(found: Object, wanted: Object) -> bool:
    """Whether an object is as a stamped one was applied."""
    given = found["metadata"].get("annotations") or {}
    return bool(given.get(ANNOTATION_DIGEST) == wanted["metadata"]["annotations"][ANNOTATION_DIGEST])


def shape(item: Object) -> str:
    """Return the digest of the field paths of an object to apply; a list counts as one field."""
    return digest(sorted(_paths(item)))


def created_shape(item: Object) -> str:
    """Return the digest of those of these fields that tell whether a created object lacks any of them."""
    return digest(sorted(_without_defaults(item["kind"], _paths(item))))


def adoption(entry: int, version: int) -> JsonPatch:
    """Return the JSON patch that makes a creation's entry of managedFields one of an apply.

    A later apply can remove its fields then, as after client-go's csaupgrade. The version is a precondition.
    """
    return [
        {"op": "replace", "path": f"/metadata/managedFields/{entry}/operation", "value": "Apply"},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": str(version)},
    ]


def job_report(job: Object) -> JobReport:
    """Return the report of a Job."""
    spec, status = job["spec"], job.get("status") or {}
    return JobReport(
        parallelism=spec.get("parallelism", 0),
        active=status.get("active", 0),
        suspended=bool(spec.get("suspend")),
        conditions=tuple(_job_condition(each) for each in status.get("conditions") or ()),
        start_time=time_of(status.get("startTime")),
        completion_time=time_of(status.get("completionTime")),
        mounts_flux_files=_mounts(spec, FLUX_FILES),
    )


def _mounts(job: Object, config_map: str) -> bool:
    """Whether a Job's pods have a projected volume with that ConfigMap."""
    volumes = job.get("template", {}).get("spec", {}).get("volumes") or ()
    sources = (source for each in volumes for source in (each.get("projected") or {}).get("sources") or ())
    return any((each.get("configMap") or {}).get("name") == config_map for each in sources)


def _paths(item: Object) -> Iterator[str]:
    about = {key: value for key, value in item["metadata"].items() if key not in _UNOWNED}
    plain = {key: value for key, value in item.items() if key not in {"apiVersion", "kind"}}
    return _fields({**plain, "metadata": about})


def _without_defaults(kind: str, paths: Iterable[str]) -> Iterator[str]:
    """Return the paths without those of defaults."""
    if kind == JOBS.kind:
        return (each for each in paths if each.startswith(".metadata") or each in _REMOVABLE)
    return (each for each in paths if kind != SERVICES.kind or each not in _DEFAULTED)


def _fields(content: Any, name: str = "", path: str = "") -> Iterator[str]:
    if isinstance(content, dict) and content and name not in _ATOMIC:
        for key, value in content.items():
            yield from _fields(value, key, f"{path}.{key}")
    else:
        yield path


@lru_cache(maxsize=256)
def _owned_shape(text: str, created: str | None) -> str:
    """Return the shape of managedFields, of the kind `created` that of its creation.

    Their text has no owner's UID, so that many objects share it.
    """
    trees: list[Object] = json.loads(text)
    paths = {path for tree in trees for path in _entry_fields(tree or {})}
    return digest(sorted(paths if created is None else _without_defaults(created, paths)))


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _entry_fields(tree: Object, name: str = "", path: str = "") -> Iterator[str]:
    """Yield the field paths of a managedFields entry down to lists, whose items are `k:` or `v:`."""
    below = [key for key in tree if key.startswith("f:")]
    if len(below) < len(tree.keys() - {"."}) or not below or name in _ATOMIC:
        yield path
        return
    for key in below:
        yield from _entry_fields(tree[key], key[2:], f"{path}.{key[2:]}")


def _creation(entries: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the place of our only entry, where that is a creation's."""
    ours = [number for number, each in enumerate(entries) if _is_ours(each) and not each.get("subresource")]
    return ours[0] if len(ours) == 1 and entries[ours[0]].get("operation") == "Update" else None


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == APPLY_MANAGER


def _job_condition(condition: Object) -> JobCondition:
    return JobCondition(
        condition["type"], condition["status"], condition.get("reason") or "", condition.get("message") or ""
    )
