"""The rules for jobspecs that this project runs, with the messages of Flux's validator where it has any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import constraints
from broker_config.formats.errors import ConstraintError, JobspecError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn, TypeAlias  # novm - for type checkers alone

JSON: TypeAlias = "dict[str, Any]"

_KEYS = ("resources", "tasks", "attributes", "version")
_ELASTIC = "attributes.user.elastic"
CONSENTS = ("never", "guest", "host")
"""What `attributes.user.share` may be: whether the job shares cores, where the instance has jobs do that."""


def check(spec: Any) -> None:
    """Raise JobspecError if this project does not run the jobspec."""
    if not isinstance(spec, dict):
        _refuse("jobspec must be a mapping")
    _check_keys(spec, _KEYS, _KEYS)
    _check_kind(spec["resources"], list, "resources must be a sequence")
    _check_kind(spec["tasks"], list, "tasks must be a sequence")
    _check_kind(spec["attributes"], dict, "attributes must be a mapping")
    if spec["version"] != 1 or isinstance(spec["version"], bool):
        _refuse("version must be 1")
    _check_system(spec["attributes"])
    vertices: JSON = {}
    _check_vertices(spec["resources"], vertices, 1)
    if "slot" not in vertices:
        _refuse("Unable to determine slot count")
    if "core" not in vertices:
        _refuse("Unable to determine slot size")
    _check_task(spec["tasks"])
    user = _table(spec["attributes"].get("user"))
    elastic = user.get("elastic")
    _check_consent(user)
    if elastic is not None:
        _check_sizes(elastic)
        _check_workers(spec, vertices)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _refuse(reason: str) -> NoReturn:
    raise JobspecError(reason)


def _check_keys(given: Mapping[str, Any], needed: tuple[str, ...], known: tuple[str, ...]) -> None:
    for key in needed:
        if key not in given:
            _refuse(f"Missing key ({key})")
    for key in given:
        if key not in known:
            _refuse(f"Extraneous key ({key})")


def _check_kind(value: Any, kind: type, reason: str) -> None:
    if not isinstance(value, kind):
        _refuse(reason)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_system(attributes: JSON) -> None:
    if not isinstance(attributes.get("system"), dict):
        _refuse("attributes.system is a required key")
    _check_keys(attributes, (), ("system", "user"))
    system: JSON = attributes["system"]
    environment = system.get("environment", {})
    if not isinstance(environment, dict) or not all(isinstance(v, str) for v in environment.values()):
        _refuse("attributes.system.environment must be a mapping of strings")
    try:
        constraints.parse(system.get("constraints"))
    except ConstraintError as error:
        _refuse(str(error))
    _check_duration(system)
    for key in ("cwd", "queue"):
        if not isinstance(system.get(key, ""), (str, type(None))):
            _refuse(f"attributes.system.{key} must be a string")
    _check_dependencies(system.get("dependencies", []))


def _check_duration(system: JSON) -> None:
    if "duration" not in system:
        _refuse("attributes.system.duration is a required key")
    duration = system["duration"]
    if isinstance(duration, bool) or not isinstance(duration, (int, float)):
        _refuse("attributes.system.duration must be a number")
    if not 0 <= duration < float("inf"):
        _refuse("attributes.system.duration must be >= 0")


def _check_dependencies(given: Any) -> None:
    _check_kind(given, list, "attributes.system.dependencies must be a list")
    for entry in given:
        _check_kind(entry, dict, "dependency must be a mapping")
        for key in ("value", "scheme"):
            if key not in entry:
                _refuse(f"Missing key ({key})")
            if not isinstance(entry[key], str):
                _refuse(f"dependency {key} must be a string")


def _check_task(tasks: list[Any]) -> None:
    """Check the command and the count of the one task section."""
    if len(tasks) != 1 or not isinstance(tasks[0], dict):
        _refuse("tasks must hold exactly one task, which is a mapping")
    task = tasks[0]
    _check_keys(task, ("command", "slot", "count"), ("command", "slot", "count", "attributes"))
    command, count = task["command"], task["count"]
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        _refuse("command must be a list of strings")
    if not command:
        _refuse("command array cannot have length of zero")
    _check_kind(count, dict, "count must be a mapping")
    if len(count) != 1:
        _refuse("count must have exactly one key set")
    for key, value in count.items():
        if key not in ("per_slot", "total"):
            _refuse("count per_slot or total must be set")
        if not _is_whole(value):
            _refuse(f"count {key} must be an int")
        if value <= 0:
            _refuse(f"count {key} must be > 0")


def _check_vertices(vertices: Any, found: JSON, depth: int) -> None:
    """Check node → slot → core and gpu, and count them."""
    _check_kind(vertices, list, "with must be a sequence")
    for vertex in vertices:
        _check_kind(vertex, dict, "resource must be a mapping")
        kind, count = _checked_vertex(vertex)
        if kind in found or depth > 3:
            _refuse(f"unsupported resource hierarchy: {kind} appears twice or too deep")
        found[kind] = count
        if kind == "slot" and not isinstance(vertex.get("label"), str):
            _refuse("slots must have labels")
        if kind == "node" and "slot" in found:
            _refuse("unsupported resource hierarchy: node inside slot")
        if "with" in vertex:
            _check_vertices(vertex["with"], found, depth + 1)


def _checked_vertex(vertex: JSON) -> tuple[str, int]:
    for key in ("type", "count"):
        if key not in vertex:
            _refuse(f"{key} is a required key for resources")
    _check_keys(vertex, (), ("type", "count", "with", "label", "exclusive", "unit", "id"))
    kind, count = vertex["type"], vertex["count"]
    if not isinstance(kind, str):
        _refuse("type must be a string")
    if kind not in ("node", "slot", "core", "gpu"):
        _refuse(f"unsupported resource type '{kind}': node, slot, core and gpu are")
    if not _is_whole(count):
        shown = "dict" if isinstance(count, dict) else type(count).__name__
        _refuse(f"resource count must be an integer for type '{kind}' (got '{shown}')")
    if count < (0 if kind == "gpu" else 1):
        _refuse("count must be >= 0" if kind == "gpu" else "node, slot, or core count must be > 0")
    if not isinstance(vertex.get("exclusive", False), bool):
        _refuse("exclusive must be a boolean")
    return kind, count


def _check_sizes(table: Any) -> None:
    if not isinstance(table, dict):
        _refuse(f"{_ELASTIC} must be a mapping with min, max and perhaps malleable")
    for key in table:
        if key not in ("min", "max", "malleable"):
            _refuse(f"{_ELASTIC}: unknown key '{key}': min, max and malleable are known")
    for key in ("min", "max"):
        if key not in table:
            _refuse(f"{_ELASTIC}.{key} is missing: a least and a largest size are needed")
        value = table[key]
        if not _is_whole(value) or value < 1:
            _refuse(f"{_ELASTIC}.{key} must be an integer > 0, not {value!r}")
    if table["min"] > table["max"]:
        _refuse(f"{_ELASTIC}: min {table['min']} is greater than max {table['max']}")
    if table.get("malleable", False) not in (False, True):
        _refuse(f"{_ELASTIC}.malleable must be true or false, not {table['malleable']!r}")


def _check_consent(user: Mapping[str, Any]) -> None:
    if user.get("share", CONSENTS[0]) not in CONSENTS:
        _refuse(f"attributes.user.share must be one of {', '.join(CONSENTS)}, not {user['share']!r}")


def _check_workers(spec: JSON, vertices: JSON) -> None:
    """Check that each worker of an elastic job is one task."""
    options = _table(_table(spec["attributes"]["system"].get("shell")).get("options"))
    one_a_slot = spec["tasks"][0]["count"].get("per_slot") == 1 and options.get("per-resource") is None
    if not one_a_slot or ("node" in vertices and vertices["slot"] != 1):
        _refuse(
            "an elastic job runs one task a slot (-n), or one task a node (-N): tasks cannot be counted"
            " otherwise"
        )
