"""What the packages offer to authors of plug-ins and programs, as JSON; where two such descriptions differ.

`python -m tests.release_0_1_0.surface` prints it. `data/surface.json` is what it printed for release 0.1.0.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import re
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON = dict[str, Any]

MODULES = (
    "minicluster",
    "minicluster.malleable",
    "minicluster.within",
    "minicluster.instance.errors",
    "minicluster.flux_modules.door.answers",
    "minicluster.flux_modules.door.errors",
    "queue_policies",
    "queue_policies.counting",
    "queue_policies.decision",
    "queue_policies.decision_log",
    "queue_policies.draft",
    "queue_policies.easy",
    "queue_policies.errors",
    "queue_policies.gain",
    "queue_policies.learning",
    "queue_policies.plugins",
    "queue_policies.policy",
    "queue_policies.queue",
    "queue_policies.records",
    "queue_policies.resizing",
    "queue_policies.running",
    "queue_policies.settings",
    "queue_policies.walk",
)
"""The module paths that stay importable: those that documentation, examples and plug-ins import from."""
GROUPS = (
    "minicluster.commands",
    "minicluster.door_routes",
    "minicluster.onlookers",
    "minicluster.policies",
    "console_scripts",
)
AUTHORS_OWN = ("queue_policies.policy.Policy",)
"""Protocols that authors implement: one more method would break what they have written."""
UNPACKED = ("queue_policies.records.Change",)
"""Records that authors unpack (`for what, job in state.changes`), as ours do: they get no more fields."""
ONLY = {
    "minicluster": ("__version__", "scale"),
}
"""Of these modules only so much is for authors."""
BESIDES = {"queue_policies.plugins": ("hookimpl",), "queue_policies.records": ("Action",)}
"""What a module makes by something of another one's."""
KEYWORD, MANY = "* ", "*"
"""How the text of a parameter begins that has no place, or that takes all that are left."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def surface(like: JSON | None = None) -> JSON:
    """Return everything; `like` another surface only what that has, wherever it is defined by now."""
    names = {name: tuple(found) for name, found in like["modules"].items()} if like else _public()
    return {
        "modules": {name: module(name, found) for name, found in names.items()},
        "policies": policies(),
        "entry points": groups(),
        "commands": commands(),
    }


def module(name: str, names: tuple[str, ...]) -> JSON:
    """Return what a module offers under these names; one that is not there is left out."""
    try:
        loaded = import_module(name)
    except ImportError:
        return {}
    found = {each: described(getattr(loaded, each)) for each in sorted(names) if hasattr(loaded, each)}
    for each, about in found.items():
        if "bases" in about:  # also by the names that the module itself has for them
            about["bases"] = sorted({*about["bases"], *_roots(loaded, getattr(loaded, each))})
    return found


def _roots(loaded: Any, kind: type) -> set[str]:
    return {
        name
        for name, value in vars(loaded).items()
        if inspect.isclass(value) and value is not kind and issubclass(kind, value)
    }


def described(value: Any) -> JSON:
    """Return what an author can rely on of one thing."""
    if inspect.isclass(value):
        return _class(value)
    if inspect.isroutine(value):
        return {"kind": "function", "parameters": parameters(value)}
    if isinstance(value, str | int | float | bool | tuple | frozenset):
        return {"kind": "value", "value": repr(value)}
    return {"kind": type(value).__name__}


def parameters(function: Any) -> list[str]:
    """Return the parameters as they are written, without annotations; `* ` begins one that has no place."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [_parameter(each) for each in found]


def policies() -> JSON:
    """Return the settings of our own queue policies, with defaults and what they may be."""
    from queue_policies.plugins import policies as found  # noqa: PLC0415 - a promised path

    ours = {name: kind for name, kind in found().items() if kind.__module__.startswith("queue_policies.")}
    return {name: _settings(kind) for name, kind in sorted(ours.items())}


def groups() -> JSON:
    """Return the names of our own entry points, by group."""
    ours = ("minicluster", "metrics_api", "queue_policies")
    found = {
        group: [each.name for each in entry_points(group=group) if each.value.startswith(ours)]
        for group in GROUPS
    }
    return {group: sorted(names) for group, names in found.items()}


def commands() -> JSON:
    """Return the arguments and options of every command of ours."""
    import typer  # noqa: PLC0415 - slow

    found = {}
    for each in entry_points(group="minicluster.commands"):
        if each.value.startswith(("minicluster", "metrics_api")):
            group: Any = typer.main.get_command(each.load())
            command = getattr(group, "commands", {}).get(each.name, group)
            found[each.name] = {param.name: _option(param) for param in command.params}
    return found


def missing(old: JSON, new: JSON) -> list[str]:
    """Return what of an older surface a newer one lacks, or has otherwise than an author's code expects."""
    return [
        *_each("module", old["modules"], new["modules"], _module_missing),
        *_each("policy", old["policies"], new["policies"], _settings_missing),
        *_each("group", old["entry points"], new["entry points"], _names_missing),
        *_each("command", old["commands"], new["commands"], _options_missing),
    ]


def _public() -> dict[str, tuple[str, ...]]:
    return {name: tuple(sorted(_public_of(name))) for name in MODULES}


def _public_of(name: str) -> set[str]:
    loaded = import_module(name)
    listed = ONLY.get(name, getattr(loaded, "__all__", None))
    if listed is not None:
        return set(listed)
    own = {each for each, value in vars(loaded).items() if getattr(value, "__module__", "") == name}
    plain_values = (str, int, float, tuple)
    constants = {
        each for each, value in vars(loaded).items() if each.isupper() and isinstance(value, plain_values)
    }
    plain = {each for each in own | constants if not each.startswith("_") and each != "TYPE_CHECKING"}
    return plain.union(BESIDES.get(name, ()))


def _class(kind: type) -> JSON:
    about: JSON = {"kind": "class", "raised": issubclass(kind, BaseException)}
    if about["raised"]:
        about["bases"] = [each.__name__ for each in kind.__mro__[1:-2]]
        about["exit_code"] = getattr(kind, "exit_code", None)
    if issubclass(kind, enum.Enum):
        return about | {"members": [each.name for each in kind]}
    return about | {
        "tuple": issubclass(kind, tuple),
        "fields": _fields(kind),
        "parameters": [] if _is_protocol(kind) else parameters(kind),
        "members": {each: _member(kind, each) for each in sorted(_own_members(kind))},
    }


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _own_members(kind: type) -> set[str]:
    parts = [each for each in kind.__mro__ if each.__module__ not in {"builtins", "typing"}]
    names = {each for part in parts for each in (*vars(part), *vars(part).get("__annotations__", {}))}
    special = {"__enter__", "__exit__", "__len__", "__iter__", "__getitem__", "__contains__", "__setitem__"}
    plain = {each for each in names if not each.startswith("_") or each in special}
    return plain - set(getattr(kind, "_fields", ())) - set(getattr(kind, "__dataclass_fields__", ()))


def _member(kind: type, name: str) -> JSON:
    value = inspect.getattr_static(kind, name, None)
    if isinstance(value, property):
        return {"kind": "property"}
    if isinstance(value, classmethod | staticmethod):
        return {"kind": "class function", "parameters": parameters(getattr(kind, name))}
    if inspect.isfunction(value):
        return {"kind": "method", "parameters": parameters(value)[1:]}
    return {"kind": "attribute"}


def _fields(kind: type) -> list[list[str | None]]:
    if dataclasses.is_dataclass(kind):
        return [[each.name, _field_default(each)] for each in dataclasses.fields(kind) if each.init]
    named: tuple[str, ...] = getattr(kind, "_fields", ())
    defaults: JSON = getattr(kind, "_field_defaults", {})
    return [[each, _default(defaults.get(each, dataclasses.MISSING))] for each in named]


def _field_default(field: dataclasses.Field[Any]) -> str | None:
    return _default(field.default) if field.default_factory is dataclasses.MISSING else "<factory>"


def _default(value: Any) -> str | None:
    empty = value is dataclasses.MISSING or value is inspect.Parameter.empty
    return None if empty else _ADDRESS.sub("", repr(value))


def _parameter(each: inspect.Parameter) -> str:
    bare = _ADDRESS.sub("", str(each.replace(annotation=inspect.Parameter.empty)))
    return f"{KEYWORD}{bare}" if each.kind is inspect.Parameter.KEYWORD_ONLY else bare


def _settings(kind: Any) -> JSON:
    return {
        each.name: {"default": repr(each.default), "choices": list(each.metadata.get("choices", ()))}
        for each in dataclasses.fields(kind)
    }


def _option(param: Any) -> JSON:
    return {"words": sorted([*param.opts, *param.secondary_opts]), "required": param.required}


def _each(what: str, old: JSON, new: JSON, compare: Any) -> Iterator[str]:
    for name, before in old.items():
        if name not in new:
            yield f"{what} {name} is gone"
        else:
            yield from (f"{what} {name}: {each}" for each in compare(name, before, new[name]))


def _module_missing(module_name: str, old: JSON, new: JSON) -> Iterator[str]:
    for name, before in old.items():
        if name not in new:
            yield f"{name} is gone"
        elif name != "__version__":
            path = f"{module_name}.{name}"
            yield from (f"{name}: {each}" for each in _thing_missing(before, new[name], path in AUTHORS_OWN))
            if path in UNPACKED and before["fields"] != new[name]["fields"]:
                yield f"{name}: fields were {before['fields']}, are {new[name]['fields']}"


def _thing_missing(old: JSON, new: JSON, authors_own: bool) -> Iterator[str]:
    for key in ("kind", "value", "raised", "exit_code", "tuple"):
        if old.get(key) != new.get(key):
            yield f"{key} was {old.get(key)}, is {new.get(key)}"
    if set(old.get("bases", ())) - set(new.get("bases", ())):
        yield f"bases were {old['bases']}, are {new['bases']}"
    yield from _fields_missing(old.get("fields", []), new.get("fields", []))
    yield from parameters_missing(old.get("parameters", []), new.get("parameters", []))
    yield from _members_missing(old.get("members", {}), new.get("members", {}), authors_own)


def _members_missing(old: Any, new: Any, authors_own: bool) -> Iterator[str]:
    if isinstance(old, list):
        yield from (f"member {each} is gone" for each in old if each not in new)
        return
    for name, before in old.items():
        if name not in new:
            yield f"member {name} is gone"
        elif before["kind"] != new[name]["kind"] and before["kind"] != "attribute":
            yield f"member {name} was a {before['kind']}, is a {new[name]['kind']}"
        else:
            changed = parameters_missing(before.get("parameters", []), new[name].get("parameters", []))
            yield from (f"{name}: {each}" for each in changed)
    if authors_own:
        yield from (f"member {each} is new, and authors have none" for each in new if each not in old)


def _fields_missing(old: list[Any], new: list[Any]) -> Iterator[str]:
    if new[: len(old)] != old:
        yield f"fields were {old}, are {new}"
    for name, default in new[len(old) :]:
        if default is None:
            yield f"field {name} is new and has no default"


def parameters_missing(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield why calls that were right are so no more."""
    before, after = ([each for each in side if not each.startswith(KEYWORD)] for side in (old, new))
    if after[: len(before)] != before:
        yield f"parameters were {before}, are {after}"
    for each in old:
        if each.startswith(KEYWORD) and each not in new:
            yield f"parameter {each} is gone or changed"
    for each in new:
        if each not in old and "=" not in each and (each.startswith(KEYWORD) or not each.startswith(MANY)):
            yield f"parameter {each} is new and has no default"


def _settings_missing(_name: str, old: JSON, new: JSON) -> Iterator[str]:
    for name, before in old.items():
        after = new.get(name)
        if after is None:
            yield f"setting {name} is gone"
        elif before["default"] != after["default"] or set(before["choices"]) - set(after["choices"]):
            yield f"setting {name} was {before}, is {after}"


def _names_missing(_name: str, old: list[str], new: list[str]) -> Iterator[str]:
    yield from (f"{each} is gone" for each in old if each not in new)


def _options_missing(_name: str, old: JSON, new: JSON) -> Iterator[str]:
    words = {word for each in new.values() for word in each["words"] if word.startswith("-")}
    for name, before in old.items():
        if before["words"][0].startswith("-"):
            yield from (f"option {word} is gone" for word in before["words"] if word not in words)
        elif not any(each["words"] == before["words"] for each in new.values()):
            yield f"argument {name} is gone"
    required = [each["words"] for each in old.values() if each["required"]]
    for each in new.values():
        if each["required"] and each["words"] not in required:
            yield f"{each['words'][0]} is required now"


if __name__ == "__main__":
    text = json.dumps(surface(), ensure_ascii=False, separators=(",", ":"))
    sys.stdout.write(text.replace('":{"kind"', '":\n{"kind"').replace('"},"', '"},\n"') + "\n")
