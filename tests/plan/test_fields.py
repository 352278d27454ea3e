"""Every field of the document changes an object or a line of a script.

The fields are enumerated from the models. A field without a row, a row without a field, and a row whose
change is not seen fail.
"""

from __future__ import annotations

import copy
import types
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import pytest

from minicluster.document.cluster import MiniClusterSpec
from minicluster.document.record import Record
from minicluster.plan import Observed, Site, plan, render
from tests.plan.field_table import BASE, ELSEWHERE, NOT_OF_SERVICES, PASSED, ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator


def leaves(model: type[Record], path: str = "") -> Iterator[str]:
    """The path of every field that holds a value, `[]` for an entry of a list, `.*` for one of a map."""
    for name, info in model.model_fields.items():
        here = f"{path}{info.alias or name}"
        yield from _below(info.annotation, here)


def _below(annotation: Any, path: str) -> Iterator[str]:
    kinds = _kinds(annotation)
    records = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Record)]
    lists = [kind for kind in kinds if get_origin(kind) is tuple]
    maps = [kind for kind in kinds if get_origin(kind) is dict]
    if records:
        yield from leaves(records[0], f"{path}.")
    elif lists and _is_record(get_args(lists[0])[0]):
        yield from _below(get_args(lists[0])[0], f"{path}[]")
    elif maps and _is_record(get_args(maps[0])[1]):
        yield from _below(get_args(maps[0])[1], f"{path}.*")
    else:
        yield path


def _kinds(annotation: Any) -> list[Any]:
    """The alternatives of an annotation, without what only bounds them."""
    if get_origin(annotation) in {Union, types.UnionType}:
        return [kind for each in get_args(annotation) for kind in _kinds(each)]
    if hasattr(annotation, "__metadata__"):
        return _kinds(get_args(annotation)[0])
    return [annotation]


def _is_record(annotation: Any) -> bool:
    return any(isinstance(kind, type) and issubclass(kind, Record) for kind in _kinds(annotation))


FIELDS = tuple(leaves(MiniClusterSpec))


def _passed(path: str) -> bool:
    return any(path.startswith(f"{field_path}.") for field_path in PASSED)


def _written(path: str) -> str:
    """A row's key as the models' path."""
    return path.replace(".0.", "[].")


def test_every_field_has_a_row():
    """No field is without effect, and no row is about a field that is gone.

    What `bursting` has is the burst service's alone, and may change: tests/burst/settings has its effects.
    """
    rows = {_written(path) for path in ROWS} - {"containers[].secrets", "services[].secrets"}
    apart = ELSEWHERE | NOT_OF_SERVICES | {path for path in FIELDS if path.startswith("bursting.")}
    expected = {path for path in FIELDS if not _passed(path) and path not in apart}
    assert rows == expected


def flattened(value: Any, path: str = "") -> dict[str, Any]:
    """Every value below, by its path."""
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    else:
        return {path: value}
    return {inner: leaf for key, item in pairs for inner, leaf in flattened(item, f"{path}/{key}").items()}


def objects_of(cluster: Any) -> dict[str, Any]:
    """The rendered values by `Kind/path`; of the kinds with several objects by `Kind/name/path`."""
    found: dict[str, Any] = {}
    for item in render(cluster, Site()):
        several = item["kind"] in {"Service", "NetworkPolicy"}
        root = f"{item['kind']}/{item['metadata']['name']}" if several else item["kind"]
        found |= {f"{root}{path}": value for path, value in flattened(item).items()}
    return found


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path such as `containers.0.image`."""
    *above, last = path.split(".")
    node: Any = document
    for step in above:
        node = node[int(step)] if isinstance(node, list) else node.setdefault(step, {})
    node[last] = value


def changed(make: Any, before: dict[str, Any], after: dict[str, Any], shows: str) -> list[str]:
    """What is new below a path of the objects, line by line, or that something is gone."""
    old, new = objects_of(make(before)), objects_of(make(after))
    paths = [path for path in {**old, **new} if path == shows or path.startswith(f"{shows}/")]
    differing = [path for path in paths if old.get(path) != new.get(path)]
    return [line for path in differing for line in _new_lines(old.get(path), new.get(path))]


def _new_lines(old: Any, new: Any) -> list[str]:
    before = str(old).splitlines() if old is not None else []
    after = str(new).splitlines() if new is not None else []
    return [line for line in after if line not in before] or [f"gone: {old}"]


@pytest.mark.parametrize("path", ROWS)
def test_field_shows(make, path):
    """Setting the field changes the object or the script line that the table names."""
    row = ROWS[path]
    before = copy.deepcopy(BASE)
    for field_path, value in row.also.items():
        if field_path != "containers.1.runFlux":
            put(before, field_path, value)
    after = copy.deepcopy(before)
    for field_path, value in row.also.items():
        put(after, field_path, value) if field_path == "containers.1.runFlux" else None
    put(after, row.at or path.replace(".*", ".data"), row.value)
    lines = changed(make, before, after, row.shows)
    assert any(row.text in line for line in lines), lines


def _sample(annotation: Any, name: str) -> Any:
    """A value that a field may have."""
    known = {"limits": {"example.org/thing": "3"}, "requests": {"memory": "1Gi"}, "matchLabels": {"a": "b"}}
    known["tolerance"] = "0.05"
    if name.rpartition(".")[2] in known:
        return known[name.rpartition(".")[2]]
    kind = next(each for each in _kinds(annotation) if each is not type(None))
    if get_origin(kind) is Literal:
        return get_args(kind)[-1]
    if get_origin(kind) is tuple:
        return [_sample(get_args(kind)[0], name)]
    return {bool: True, int: 7, str: "thing"}[kind]


def _cases() -> Iterator[Any]:
    """Each leaf of a part that is passed on."""
    for path in FIELDS:
        for field_path, target in PASSED.items():
            if path.startswith(f"{field_path}."):
                yield pytest.param(field_path, path.removeprefix(f"{field_path}."), target, id=path)


def _annotation(path: str) -> Any:
    model: Any = MiniClusterSpec
    for step in path.replace("[]", "").split("."):
        info = next(each for name, each in model.model_fields.items() if (each.alias or name) == step)
        kinds = [get_args(kind)[0] if get_origin(kind) is tuple else kind for kind in _kinds(info.annotation)]
        nested = [each for kind in kinds for each in _kinds(kind) if isinstance(each, type)]
        model = next((each for each in nested if issubclass(each, Record)), None)
        annotation = info.annotation
    return annotation


# What must be there besides, for the document to be valid.
NEEDED: dict[str, dict[str, Any]] = {
    "pod.tolerations[]": {"key": "dedicated", "operator": "Equal", "effect": "NoExecute"},
    "pod.topologySpreadConstraints[]": {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
    },
    "pod.resourceClaims[]": {"name": "gpu", "resourceClaimName": "claim"},
}
PARTS: dict[str, dict[str, Any]] = {
    "seccompProfile": {"type": "RuntimeDefault"},
    "appArmorProfile": {"type": "RuntimeDefault"},
    "sysctls[]": {"name": "kernel.shm_rmid_forced", "value": "1"},
    "claims[]": {"name": "gpu"},
    "policies[]": {"type": "Pods", "value": 1, "periodSeconds": 60},
    "matchExpressions[]": {"key": "a", "operator": "In", "values": ["b"]},
}


@pytest.mark.parametrize(("field_path", "leaf", "target"), list(_cases()))
def test_field_is_passed_on(make, field_path, leaf, target):
    """What Kubernetes understands arrives in the object as it stands in the document."""
    value = "gpu" if leaf == "claims[].name" else _sample(_annotation(f"{field_path}.{leaf}"), leaf)
    part = copy.deepcopy(NEEDED.get(field_path, {}))
    *above, last = leaf.split(".")
    holder = part
    for step in above:
        entry = copy.deepcopy(PARTS.get(step, {}))
        holder[step.removesuffix("[]")] = [entry] if step.endswith("[]") else entry
        holder = entry
    holder[last] = value
    if leaf == "resourceClaimTemplateName":
        del part["resourceClaimName"]
    if leaf == "operator":
        part |= {"operator": "Exists", "key": ""} if value == "Exists" else {}
    document = copy.deepcopy(BASE)
    document["pod"] = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "claim"}]}
    put(
        document,
        field_path.removesuffix("[]").replace("[]", ".0"),
        [part] if field_path.endswith("[]") else part,
    )
    found = objects_of(make(document))
    arrived = f"{target}/{leaf.replace('[]', '/0').replace('.', '/')}"
    assert {path: item for path, item in flattened(value, arrived).items() if found.get(path) != item} == {}
    assert flattened(value, arrived)


def test_managed_by_leaves_everything_alone(make, now):
    """`managedBy`: another controller owns the MiniCluster, ours makes nothing."""
    cluster = make({"managedBy": "kueue.x-k8s.io/multikueue"}, status={"phase": "Theirs"})
    decided = plan(cluster, Observed(), Site(), None, now)
    assert (decided.objects, decided.status, decided.events) == ((), {"phase": "Theirs"}, ())
