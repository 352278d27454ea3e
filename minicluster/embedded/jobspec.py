"""Jobspec V1 (RFC 14, RFC 25): checked with the words that Flux uses, and read into what the engine needs."""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from broker_config import hostlist, idset
from broker_config.errors import ParseError
from minicluster.embedded.elastic import sizes_of
from minicluster.embedded.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.elastic import Sizes

_KEYS = ("resources", "tasks", "attributes", "version")
_OPERATORS = ("properties", "hostlist", "ranks", "not", "or", "and")
Constraint = tuple[Any, ...]  # ("properties", "a", "^b"), ("and", Constraint, …): hashable


@dataclass(frozen=True, slots=True)
class Resources:
    """What a job asks for. With `nodes`, `slots` counts per node; without, over all of them."""

    nodes: int
    slots: int
    cores: int  # a slot
    gpus: int  # a slot
    exclusive: bool = False
    constraint: Constraint | None = None

    @property
    def size(self) -> int:
        """The least number of cores it takes."""
        return self.slots_in_all * self.cores

    @property
    def slots_in_all(self) -> int:
        """Slots over all nodes."""
        return max(self.nodes, 1) * self.slots

    def sized(self, size: int) -> Resources:
        """The same for so many cores, rounded down to whole nodes, or slots where it asks for none."""
        if self.nodes:
            return replace(self, nodes=size // (self.slots * self.cores))
        return replace(self, slots=size // self.cores)

    @property
    def workers(self) -> int:
        """The workers of an elastic job, each of which has a node or a slot."""
        return self.nodes or self.slots

    def with_workers(self, count: int) -> Resources:
        """The same for so many workers."""
        return replace(self, nodes=count) if self.nodes else replace(self, slots=count)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A valid jobspec as the engine sees it."""

    resources: Resources
    duration: float
    name: str
    ntasks: int
    tasks_per: tuple[str, int] | None  # "node" or "core" and how many tasks each of it gets
    cwd: str | None
    queue: str | None
    dependencies: tuple[tuple[str, str], ...]
    elastic: Sizes | None = None  # then `resources` are those of its least size


def parse(spec: Any) -> Parsed:
    """Check a jobspec and read it. Raises RpcError (EPERM, as Flux's validator) with the reason."""
    if not isinstance(spec, dict):
        raise _refused("jobspec must be a mapping")
    _keys(spec, _KEYS, _KEYS)
    _mapping_or_list(spec["resources"], list, "resources must be a sequence")
    _mapping_or_list(spec["tasks"], list, "tasks must be a sequence")
    _mapping_or_list(spec["attributes"], dict, "attributes must be a mapping")
    if spec["version"] != 1 or isinstance(spec["version"], bool):
        raise _refused("version must be 1")
    system = _system(spec["attributes"])
    resources = _resources(spec["resources"], _constraint(system.get("constraints")))
    command, count = _task(spec["tasks"])
    elastic = sizes_of(spec["attributes"], resources, count)
    if elastic is not None:
        resources = resources.with_workers(elastic.least)
    return Parsed(
        resources=resources,
        duration=_duration(system),
        name=_name(system, command),
        ntasks=count.get("total", count.get("per_slot", 0) * resources.slots_in_all),
        tasks_per=_tasks_per(system),
        cwd=_text(system, "cwd"),
        queue=_text(system, "queue"),
        dependencies=_dependencies(system.get("dependencies", [])),
        elastic=elastic,
    )


def _tasks_per(system: dict[str, Any]) -> tuple[str, int] | None:
    """The shell option per-resource: tasks follow the allocation, not the slots."""
    shell = system.get("shell")
    options = shell.get("options") if isinstance(shell, dict) else None
    wanted = options.get("per-resource") if isinstance(options, dict) else None
    if not isinstance(wanted, dict) or wanted.get("type") not in ("node", "core"):
        return None
    count = wanted.get("count", 1)
    return (wanted["type"], count) if isinstance(count, int) else None


def redacted(spec: dict[str, Any]) -> dict[str, Any]:
    """The jobspec without the environment, as Flux shows it."""
    attributes = spec["attributes"]
    system = {key: value for key, value in attributes["system"].items() if key != "environment"}
    return {**spec, "attributes": {**attributes, "system": system}}


def _refused(reason: str) -> RpcError:
    return RpcError(errno.EPERM, reason)


def _keys(given: Mapping[str, Any], needed: tuple[str, ...], known: tuple[str, ...]) -> None:
    for key in needed:
        if key not in given:
            raise _refused(f"Missing key ({key})")
    for key in given:
        if key not in known:
            raise _refused(f"Extraneous key ({key})")


def _mapping_or_list(value: Any, kind: type, reason: str) -> None:
    if not isinstance(value, kind):
        raise _refused(reason)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _system(attributes: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(attributes.get("system"), dict):
        raise _refused("attributes.system is a required key")
    _keys(attributes, (), ("system", "user"))
    system: dict[str, Any] = attributes["system"]
    environment = system.get("environment", {})
    if not isinstance(environment, dict) or not all(isinstance(v, str) for v in environment.values()):
        raise _refused("attributes.system.environment must be a mapping of strings")
    return system


def _text(system: dict[str, Any], key: str) -> str | None:
    value = system.get(key)
    if value is not None and not isinstance(value, str):
        raise _refused(f"attributes.system.{key} must be a string")
    return value


def _duration(system: dict[str, Any]) -> float:
    if "duration" not in system:
        raise _refused("attributes.system.duration is a required key")
    duration = system["duration"]
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        raise _refused("attributes.system.duration must be a number")
    if not 0 <= duration < float("inf"):
        raise _refused("attributes.system.duration must be >= 0")
    return float(duration)


def _name(system: dict[str, Any], command: list[str]) -> str:
    job = system.get("job")
    name = job.get("name") if isinstance(job, dict) else None
    return name if isinstance(name, str) else PurePath(command[0]).name


def _task(tasks: list[Any]) -> tuple[list[str], dict[str, int]]:
    """The command and the count of the one task section."""
    if len(tasks) != 1 or not isinstance(tasks[0], dict):
        raise _refused("tasks must hold exactly one task, which is a mapping")
    task = tasks[0]
    _keys(task, ("command", "slot", "count"), ("command", "slot", "count", "attributes"))
    command, count = task["command"], task["count"]
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        raise _refused("command must be a list of strings")
    if not command:
        raise _refused("command array cannot have length of zero")
    _mapping_or_list(count, dict, "count must be a mapping")
    if len(count) != 1:
        raise _refused("count must have exactly one key set")
    for key, value in count.items():
        if key not in ("per_slot", "total"):
            raise _refused("count per_slot or total must be set")
        if not _whole(value):
            raise _refused(f"count {key} must be an int")
        if value <= 0:
            raise _refused(f"count {key} must be > 0")
    return command, count


def _resources(given: list[Any], constraint: Constraint | None) -> Resources:
    """Walk node → slot → core and gpu. Equal requests share one record."""
    found: dict[str, Any] = {"exclusive": False}
    _walk(given, found, 1)
    if "slot" not in found:
        raise _refused("Unable to determine slot count")
    if "core" not in found:
        raise _refused("Unable to determine slot size")
    node, gpu = found.get("node", 0), found.get("gpu", 0)
    return _shared(node, found["slot"], found["core"], gpu, found["exclusive"], constraint)


_shared = lru_cache(10_000)(Resources)


def _walk(vertices: Any, found: dict[str, Any], depth: int) -> None:
    _mapping_or_list(vertices, list, "with must be a sequence")
    for vertex in vertices:
        _mapping_or_list(vertex, dict, "resource must be a mapping")
        kind, count = _vertex(vertex)
        if kind in found or depth > 3:
            raise _refused(f"unsupported resource hierarchy: {kind} appears twice or too deep")
        found[kind] = count
        found["exclusive"] = found["exclusive"] or vertex.get("exclusive", False)
        if kind == "slot" and not isinstance(vertex.get("label"), str):
            raise _refused("slots must have labels")
        if kind == "node" and "slot" in found:
            raise _refused("unsupported resource hierarchy: node inside slot")
        if "with" in vertex:
            _walk(vertex["with"], found, depth + 1)


def _vertex(vertex: dict[str, Any]) -> tuple[str, int]:
    for key in ("type", "count"):
        if key not in vertex:
            raise _refused(f"{key} is a required key for resources")
    _keys(vertex, (), ("type", "count", "with", "label", "exclusive", "unit", "id"))
    kind, count = vertex["type"], vertex["count"]
    if not isinstance(kind, str):
        raise _refused("type must be a string")
    if kind not in ("node", "slot", "core", "gpu"):
        raise _refused(f"unsupported resource type '{kind}': node, slot, core and gpu are")
    if not _whole(count):
        what = "dict" if isinstance(count, dict) else type(count).__name__
        raise _refused(f"resource count must be an integer for type '{kind}' (got '{what}')")
    if count < (0 if kind == "gpu" else 1):
        raise _refused("count must be >= 0" if kind == "gpu" else "node, slot, or core count must be > 0")
    if not isinstance(vertex.get("exclusive", False), bool):
        raise _refused("exclusive must be a boolean")
    return kind, count


def _dependencies(given: Any) -> tuple[tuple[str, str], ...]:
    _mapping_or_list(given, list, "attributes.system.dependencies must be a list")
    for entry in given:
        _mapping_or_list(entry, dict, "dependency must be a mapping")
        for key in ("value", "scheme"):
            if key not in entry:
                raise _refused(f"Missing key ({key})")
            if not isinstance(entry[key], str):
                raise _refused(f"dependency {key} must be a string")
    return tuple((entry["scheme"], entry["value"]) for entry in given)


def _constraint(given: Any) -> Constraint | None:
    """Check an RFC 31 constraint and make it hashable; an empty object is none."""
    if given is None or given == {}:
        return None
    _mapping_or_list(given, dict, "constraints must be a mapping")
    terms = [_term(operator, values) for operator, values in given.items()]
    return terms[0] if len(terms) == 1 else ("and", *terms)


def _term(operator: str, values: Any) -> Constraint:
    if operator not in _OPERATORS:
        raise _refused(f"unknown constraint operator '{operator}'")
    _mapping_or_list(values, list, f"argument to constraint {operator} must be a sequence")
    if operator in ("not", "or", "and"):
        nested = [_constraint(value) for value in values]
        return (operator, *(term for term in nested if term is not None))
    for value in values:
        if not isinstance(value, str):
            raise _refused(f"argument to constraint {operator} must be a sequence of strings")
        _check_operand(operator, value)
    return (operator, *values)


def _check_operand(operator: str, value: str) -> None:
    if operator == "properties":
        if not value.removeprefix("^") or any(mark in value.removeprefix("^") for mark in "!&'\"^`|()"):
            raise _refused(f"invalid character in property '{value}'")
        return
    try:
        (hostlist if operator == "hostlist" else idset).decode(value)
    except ParseError as error:
        kind = "hostlist" if operator == "hostlist" else "idset"
        raise _refused(f"Invalid {kind}: '{value}': {error}") from None
