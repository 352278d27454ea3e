"""The fields of objects, and how they are merged: as much of server-side apply as the operator meets.

A field is a path of `fieldsV1` elements: "f:spec", "f:containers", 'k:{"name":"app"}'. Maps are merged key by
key. Lists are replaced as a whole, but for those in LISTS, whose items are identified by keys.
"""

import functools
import json
from collections.abc import Iterable, Iterator
from typing import Any

Object = dict[str, Any]
Path = tuple[str, ...]
Fields = frozenset[Path]

LISTS = {
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
SETS = {"finalizers"}
# Maps that count as one field.
ATOMIC = {"selector", "podSelector", "namespaceSelector", "labelSelector", "nodeSelector"}
# No manager owns these: they identify the object, or are the server's own.
UNOWNED = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
)
ITEM = object()  # the value of a list item itself, beside those of its fields


def flatten(item: Object) -> dict[Path, Any]:
    """Return the fields of an object and their values."""
    plain = {key: value for key, value in item.items() if key not in {"apiVersion", "kind", "metadata"}}
    metadata = {key: value for key, value in item["metadata"].items() if key not in UNOWNED}
    return dict(_walk(plain, ())) | dict(_walk(metadata, ("f:metadata",)) if metadata else ())


def fields(item: Object) -> Fields:
    """Return the fields of an object; computed once for the same content."""
    return _fields(json.dumps(item))


def changes(old: Object, new: Object) -> tuple[Fields, Fields]:
    """Return the fields that are new or have another value, and those that are gone."""
    before, after = (flatten({"metadata": {}, **part}) for part in _unlike(old, new))
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    return frozenset(changed), frozenset(before.keys() - after.keys())


def _unlike(old: Object, new: Object) -> tuple[Object, Object]:
    """Return two maps without what is equal in both, which is most of two versions of an object."""
    before, after = dict[str, Any](), dict[str, Any]()
    for key in {**old, **new}:
        one, two = old.get(key, ITEM), new.get(key, ITEM)
        if one == two:
            continue
        parts = (one, two)
        if isinstance(one, dict) and isinstance(two, dict) and key not in ATOMIC:
            parts = _unlike(one, two)
        for side, whole, part in ((before, one, parts[0]), (after, two, parts[1])):
            if whole is not ITEM and (part or not whole):
                side[key] = part
    return before, after


def merge(live: Any, applied: Any, name: str = "") -> Any:
    """Return an existing value after an apply."""
    if isinstance(live, dict) and isinstance(applied, dict) and name not in ATOMIC:
        merged = {key: merge(live[key], applied[key], key) for key in applied.keys() & live.keys()}
        return {key: merged.get(key, value) for key, value in {**live, **applied}.items()}
    if isinstance(live, list) and isinstance(applied, list) and (keys := _keys(name, [*live, *applied])):
        return _merge_items(live, applied, keys)
    return applied


def without(value: Any, gone: Fields, path: Path = ()) -> Any:
    """Return a value without these fields, and without the maps and lists that are empty then."""
    if not gone:
        return value
    if isinstance(value, dict):
        kept = ((key, child, (*path, f"f:{key}")) for key, child in value.items())
        return _rest((key, without(child, _below(gone, at), at)) for key, child, at in kept if at not in gone)
    if isinstance(value, list) and (keys := _keys(path[-1][2:], value)):
        items = [(each, (*path, _element(each, keys))) for each in value]
        return [without(each, _below(gone, at), at) for each, at in items if at not in gone]
    return value


@functools.lru_cache(maxsize=10_000)
def rendered(fields: Fields) -> Object:
    """Return fields as `fieldsV1` has them."""
    tree: Object = {}
    for path in sorted(fields):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        if path[-1].startswith("k:"):
            node["."] = {}
    return tree


def merge_patch(target: Any, patch: Any) -> Any:
    """Return a value after a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


@functools.lru_cache(maxsize=10_000)
def _fields(text: str) -> Fields:
    return frozenset(flatten(json.loads(text)))


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    name = path[-1][2:] if path else ""
    if isinstance(value, dict) and value and name not in ATOMIC:
        for key, child in value.items():
            yield from _walk(child, (*path, f"f:{key}"))
    elif isinstance(value, list) and (keys := _keys(name, value)):
        for each in value:
            at = (*path, _element(each, keys))
            yield at, ITEM
            yield from _walk(each, at) if isinstance(each, dict) else ()
    elif path:
        yield path, value


def _keys(name: str, items: Iterable[Any]) -> tuple[str, ...]:
    """Return the keys that identify a list's items; none where the list is one field."""
    if name in SETS:
        return ("",)
    first = next(iter(items), None)
    if not isinstance(first, dict):
        return ()
    if name == "ports":
        if "containerPort" in first:
            return ("containerPort", "protocol")
        # A Service's have names; a NetworkPolicy's are one field.
        return ("port", "protocol") if "name" in first else ()
    keys = LISTS.get(name, ())
    return keys if all(key in first for key in keys) else ()


def _element(item: Any, keys: tuple[str, ...]) -> str:
    if keys == ("",):
        return f"v:{json.dumps(item)}"
    return "k:" + json.dumps({key: item.get(key) for key in keys}, separators=(",", ":"))


def _merge_items(live: list[Any], applied: list[Any], keys: tuple[str, ...]) -> list[Any]:
    there = {_element(each, keys): each for each in live}
    new = {_element(each, keys): each for each in applied}
    return [merge(there.get(key, each), new.get(key, each)) for key, each in {**there, **new}.items()]


def _below(gone: Fields, path: Path) -> Fields:
    return frozenset(each for each in gone if each[: len(path)] == path)


def _rest(pairs: Iterable[tuple[str, Any]]) -> Object:
    return {key: value for key, value in pairs if value not in ({}, [])}
