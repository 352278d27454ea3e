"""Fields of a document that other field managers have set: server-side apply's conflicts.

An API server compares the document as it was written with what it stored, which has the defaults. A list is
compared and owned as a whole. So the same list of containers conflicts with itself where somebody else has
applied it, as its items have defaults. Here documents are compared once they have theirs.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minicluster.document import DocumentError, validate
from minicluster.remote.documents import resolved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minicluster.document import Problem
    from minicluster.document.positions import Path
    from minicluster.kube_client.errors import ApiError, Cause
    from minicluster.plan.objects.fields import Object
    from minicluster.remote.documents import Wanted

AUTOSCALER = "kube-controller-manager"
"""The field manager of the controller that scales for HorizontalPodAutoscalers."""
CONFLICT = "FieldManagerConflict"
LEAVE_OUT = "--force sets them as the document says; else leave them out of the document, or change it"
CHANGE = "--force sets them as the document says; else change the document to what the cluster has"
"""The advice for a list, and for a field that every document has."""
MAX_SHOWN_CHARACTERS = 80
"""Characters of a value that is shown."""
_ABSENT = object()


def of(error: ApiError) -> list[Cause]:
    """Return the conflicts in a refusal: a field and one of its managers each."""
    return [cause for cause in error.causes if cause.reason == CONFLICT]


def differing(causes: Sequence[Cause], current: Object, defaulted: Object) -> list[Cause]:
    """Return the conflicts of fields that differ.

    `current` is the stored object, `defaulted` what would be stored if the document were applied by force.
    """
    return [each for each in causes if any(_fields(each, current, defaulted))]


def problems(wanted: Wanted, causes: Sequence[Cause], current: Object, defaulted: Object) -> list[Problem]:
    """Return each field that differs, also those within lists, with both values and the manager."""
    return [
        wanted.problem(field, f"{_difference(field, wanted, current, defaulted)}; it was set by {holder}")
        for each in causes
        for holder in [_holder(each.message)]
        for field in _fields(each, current, defaulted)
    ]


def advice(wanted: Wanted, causes: Sequence[Cause]) -> str:
    """Return what a user can do about fields that differ."""
    if any(isinstance(_at(each.field, wanted.item), list) for each in causes):
        return CHANGE
    if wanted.is_cluster:
        try:
            validate(without(wanted, causes).item)
        except DocumentError:
            return CHANGE
    return LEAVE_OUT


def is_autoscaled(wanted: Wanted, causes: Sequence[Cause]) -> bool:
    """Whether only the size differs, and the autoscaler of the document's own `autoscaling` has set it."""
    if not wanted.is_cluster or wanted.item["spec"].get("autoscaling") is None:
        return False
    return bool(causes) and all(
        each.field == ".spec.size" and f'"{AUTOSCALER}" with subresource "scale"' in each.message
        for each in causes
    )


def without(wanted: Wanted, causes: Sequence[Cause]) -> Wanted:
    """Return a document that leaves the fields of conflicts as they are."""
    item = wanted.item
    for each in causes:
        path, rest = resolved(each.field, item)
        if path and not rest:
            item = _without(path, item)
    return replace(wanted, item=item)


def _without(path: Path, value: Any) -> Any:
    """Return a value without what is at a path of keys."""
    first, *rest = path
    if not rest:
        return {key: inner for key, inner in value.items() if key != first}
    return {**value, first: _without(tuple(rest), value[first])}


def _fields(cause: Cause, current: Object, defaulted: Object) -> Iterator[str]:
    """Yield the fields that differ in a conflict's field; itself where it is in neither object."""
    field = cause.field.lstrip(".")
    there, meant = _at(field, current), _at(field, defaulted)
    if there is meant is _ABSENT:
        yield field
    else:
        yield from _differing(field, there, meant)


def _differing(field: str, there: Any, meant: Any) -> Iterator[str]:
    """Yield the innermost fields in which two values of a field differ."""
    if isinstance(there, dict) and isinstance(meant, dict):
        for key in {**there, **meant}:
            yield from _differing(f"{field}.{key}", there.get(key, _ABSENT), meant.get(key, _ABSENT))
    elif isinstance(there, list) and isinstance(meant, list) and len(there) == len(meant):
        for index, (one, other) in enumerate(zip(there, meant, strict=True)):
            yield from _differing(f"{field}[{index}]", one, other)
    elif there != meant:
        yield field


def _at(field: str, item: Object) -> Any:
    """Return what is at a field of an object, _ABSENT where nothing is."""
    path, rest = resolved(field, item)
    value: Any = item
    for step in path:
        value = value[step]
    return _ABSENT if rest else value


def _difference(field: str, wanted: Wanted, current: Object, defaulted: Object) -> str:
    """Return how a field differs; without values that are long, or a Secret's."""
    there, meant = _text(_at(field, current)), _text(_at(field, defaulted))
    if "" in (there, meant) or wanted.kind == "Secret":
        return "differs in the cluster from what the document says"
    in_cluster = "is not set" if there is None else f"is {there}"
    if meant is None:
        return f"{in_cluster} in the cluster, the document does not set it"
    if _at(field, wanted.item) is _ABSENT:
        return f"{in_cluster} in the cluster, the document leaves it at the default {meant}"
    return f"{in_cluster} in the cluster, the document says {meant}"


def _text(value: Any) -> str | None:
    """Return a value as a text for users: empty for lists, maps and what is long, None for what is absent."""
    if value is _ABSENT:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "" if isinstance(value, dict | list) or "\n" in text or len(text) > MAX_SHOWN_CHARACTERS else text


def _holder(message: str) -> str:
    """Return the manager of a field: the command that the user knows, and the field manager's name."""
    quoted = re.findall(r'"([^"]*)"', message)
    manager = quoted[0] if quoted else "somebody else"
    if 'subresource "scale"' in message:
        known = "minicluster scale" if manager == "minicluster-cli" else "scaling"
        known = "the autoscaler" if manager == AUTOSCALER else known
        return f'{known} (field manager "{manager}")'
    words = {"kubectl-edit": "kubectl edit", "kubectl-client-side-apply": "kubectl apply"}
    words |= {
        "kubectl-create": "kubectl create",
        "kubectl": "kubectl apply --server-side",
        "kubectl-patch": "kubectl patch",
    }
    known = words.get(manager, "")
    return f'{known} (field manager "{manager}")' if known else f'field manager "{manager}"'
