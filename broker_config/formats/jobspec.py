"""Jobspecs, version 1 (RFC 14, RFC 25): written, checked with Flux's own messages, and read.

Beyond the RFC, `attributes.user.elastic` makes a job elastic:

    flux submit -n 1 --setattr=user.elastic.min=1 --setattr=user.elastic.max=4 …

Sizes are in workers. A worker is a task: one on each slot, or one on each node if the job requests nodes. The
size is chosen between `min` and `max` when the job starts; the requested number does not count. With
`malleable` (default: false) it may change while the job runs, once its program has reported that it accepts
resizes.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import constraints
from broker_config.formats.jobspec_rules import CONSENTS, check

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias  # novm - for type checkers alone

    from broker_config.formats.constraints import Constraint

JSON: TypeAlias = "dict[str, Any]"


class RequestedResources(NamedTuple):
    """The resources that a job requests."""

    nodes: int
    """0: any number."""
    slots: int
    """On each node if `nodes` is not 0, else in all."""
    cores: int
    """A slot."""
    gpus: int
    """A slot."""
    exclusive: bool = False
    """Whether it takes whole nodes."""
    constraint: Constraint | None = None
    shape: Any = None
    """What is known of its tasks, a `TaskShape` of queue policies; None: nothing."""

    @property
    def size(self) -> int:
        """The least number of cores that it takes."""
        return self.slots_in_all * self.cores

    @property
    def slots_in_all(self) -> int:
        """The number of slots on all nodes."""
        return max(self.nodes, 1) * self.slots

    @property
    def workers(self) -> int:
        """The number of workers of an elastic job. Each has a node or a slot."""
        return self.nodes or self.slots

    def sized(self, size: int) -> RequestedResources:
        """Return the same request for `size` cores, rounded down to whole nodes or slots."""
        if self.nodes:
            return self.with_workers(size // (self.slots * self.cores))
        return self.with_workers(size // self.cores)

    def with_workers(self, count: int) -> RequestedResources:
        """Return the same request for `count` workers."""
        return self._replace(nodes=count) if self.nodes else self._replace(slots=count)


class Sizes(NamedTuple):
    """The numbers of workers with which an elastic job can run."""

    least: int
    most: int
    malleable: bool = False
    """Whether the number may change while the job runs."""


class Parsed(NamedTuple):
    """The content of a jobspec."""

    resources: RequestedResources
    """For an elastic job, those of its least size."""
    duration: float
    """The time limit in seconds, 0 without one."""
    name: str
    ntasks: int
    """0 if `tasks_per` counts them."""
    tasks_per: tuple[str, int] | None
    """"node" or "core", and how many tasks each of them gets."""
    cwd: str | None
    queue: str | None
    dependencies: tuple[tuple[str, str], ...]
    """Scheme and value of each."""
    asked: RequestedResources
    """As in the jobspec, also for an elastic job."""
    elastic: Sizes | None = None
    group: str = ""
    """`attributes.user.group`, to which the metrics count the job; empty if it names none."""
    consent: str = ""
    """`attributes.user.share`, one of CONSENTS; empty if it names none."""


def parse(spec: Any) -> Parsed:
    """Check and read a jobspec. Raises JobspecError with the reason of Flux's validator."""
    check(spec)
    return read(spec)


def read(spec: Any) -> Parsed:
    """Read a jobspec that an instance has admitted. Invalid values in it count as the least possible."""
    table = _object(spec)
    system, user = system_of(table), user_of(table)
    vertices: JSON = {}
    _count(table.get("resources"), vertices)
    asked = _shared(
        vertices.get("node", 0),
        vertices.get("slot", 1),
        vertices.get("core", 1),
        vertices.get("gpu", 0),
        vertices.get("exclusive", False),
        constraints.read(system.get("constraints")),
    )
    elastic = sizes_of(user)
    resources = asked if elastic is None else asked.with_workers(elastic.least)
    command, tasks = _command_and_count(table.get("tasks"))
    dependencies = ((str(each.get("scheme")), str(each.get("value"))) for each in dependencies_of(table))
    group = user.get("group")
    return Parsed(
        resources=resources,
        duration=seconds(system.get("duration")),
        name=_name(system, command),
        ntasks=tasks.get("total", tasks.get("per_slot", 0) * resources.slots_in_all),
        tasks_per=_tasks_per(system),
        cwd=_text(system.get("cwd")),
        queue=_text(system.get("queue")),
        dependencies=tuple(dependencies),
        asked=asked,
        elastic=elastic,
        group=group if isinstance(group, str) else "",
        consent=user["share"] if user.get("share") in CONSENTS else "",
    )


def seconds(limit: Any) -> float:
    """Return a time limit in seconds; 0 without a valid one."""
    return float(limit) if isinstance(limit, (int, float)) and 0 <= limit < float("inf") else 0.0


class Companion(NamedTuple):
    """What identifies a companion: one more worker of a malleable job of real Flux, as a job of its own."""

    of: str
    """The F58 id of its base job."""
    task: int
    """The number that its task has in the base job."""


def companion_of(spec: Any) -> Companion | None:
    """Return the base job and task in a companion's jobspec; None for other jobs."""
    user = user_of(spec)
    of, task = user.get("companion_of"), user.get("task")
    return Companion(of, task) if isinstance(of, str) and type(task) is int else None


def system_of(spec: Any) -> JSON:
    """Return `attributes.system` itself, by which it can be changed; an empty one if there is none."""
    return _attributes(spec, "system")


def user_of(spec: Any) -> Mapping[str, Any]:
    """Return `attributes.user`, whose content is up to users; empty if there is none."""
    return _attributes(spec, "user")


def sizes_of(user: Any) -> Sizes | None:
    """Return the sizes that `attributes.user` names; None: the job is rigid."""
    table = _object(user).get("elastic")
    if not isinstance(table, dict):
        return None
    least, most = _whole(table.get("min")), _whole(table.get("max"))
    return Sizes(least, most, table.get("malleable") in (True, 1)) if 0 < least <= most else None


def command_of(spec: Any) -> Sequence[Any]:
    """Return the command of the one task section, empty if there is none."""
    return _command_and_count(_object(spec).get("tasks"))[0]


def dependencies_of(spec: Any) -> list[JSON]:
    """Return the dependencies themselves, each with `scheme` and `value`."""
    given = system_of(spec).get("dependencies")
    return [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []


def shell_options(spec: Any) -> Mapping[str, Any]:
    """Return `attributes.system.shell.options`, empty if there are none."""
    return _options(system_of(spec))


def cores_per_slot(spec: Any) -> int:
    """Return how many cores each slot has; 1 if the jobspec does not specify it."""
    vertices: JSON = {}
    _count(_object(spec).get("resources"), vertices)
    return vertices.get("core", 0) or 1


def task_count(spec: Any) -> Mapping[str, int]:
    """Return `count` of the one task section: `total` or `per_slot`."""
    return _command_and_count(_object(spec).get("tasks"))[1]


def redacted(spec: JSON) -> JSON:
    """Return the jobspec without the environment, as Flux shows it."""
    attributes = spec["attributes"]
    system = {key: value for key, value in attributes["system"].items() if key != "environment"}
    return {**spec, "attributes": {**attributes, "system": system}}


def without_user(spec: JSON) -> JSON:
    """Return the jobspec without `attributes.user`: as Flux reads it, in which no job is elastic."""
    return {**spec, "attributes": {"system": system_of(spec)}}


def without_files(spec: JSON) -> JSON:
    """Return the jobspec without the content of files, such as that of a batch script."""
    system = {key: value for key, value in system_of(spec).items() if key != "files"}
    return {**spec, "attributes": {**_object(spec.get("attributes")), "system": system}}


def _attributes(spec: Any, key: str) -> JSON:
    try:
        return _object(spec["attributes"][key])
    except (KeyError, TypeError):  # absent, or no object
        return {}


def _object(value: Any) -> JSON:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value is not True and value > 0 else 0


_shared = lru_cache(10_000)(RequestedResources)  # equal requests are one record


def _count(vertices: Any, found: JSON) -> None:
    """Count node → slot → core and gpu."""
    for vertex in vertices if isinstance(vertices, list) else ():
        if isinstance(vertex, dict):
            found[str(vertex.get("type"))] = _whole(vertex.get("count"))
            if vertex.get("exclusive") is True:
                found["exclusive"] = True
            _count(vertex.get("with"), found)


def _command_and_count(tasks: Any) -> tuple[Sequence[Any], Mapping[str, int]]:
    task = _object(tasks[0]) if isinstance(tasks, list) and tasks else {}
    command, count = task.get("command"), _object(task.get("count"))
    return command if isinstance(command, list) else (), {key: _whole(each) for key, each in count.items()}


def _name(system: Mapping[str, Any], command: Sequence[Any]) -> str:
    name = _object(system.get("job")).get("name")
    return name if isinstance(name, str) else _last(str(command[0])) if command else ""


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _options(system: Mapping[str, Any]) -> Mapping[str, Any]:
    return _object(_object(system.get("shell")).get("options"))


def _tasks_per(system: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the shell option per-resource, by which tasks follow the allocation, not the slots."""
    wanted = _object(_options(system).get("per-resource"))
    kind, count = wanted.get("type"), wanted.get("count", 1)
    return (kind, count) if kind in ("node", "core") and isinstance(count, int) else None


# -- writing ---------------------------------------------------------------------------------------------


def build(
    command: Iterable[str],
    request: JSON,
    count: Mapping[str, int],
    system: JSON,
    user: Mapping[str, Any] | None = None,
) -> JSON:
    """Return a jobspec of one task section; `request` is a `slot` or a `node`, `count` total or per_slot."""
    attributes: JSON = {"system": system}
    if user:
        attributes["user"] = dict(user)
    return {
        "resources": [request],
        "tasks": [{"command": list(command), "slot": "task", "count": dict(count)}],
        "attributes": attributes,
        "version": 1,
    }


def slot(count: int, cores: int, gpus: int = 0) -> JSON:
    """Return a request for slots with these numbers of cores and GPUs."""
    inside = [{"type": "core", "count": cores}]
    if gpus:
        inside.append({"type": "gpu", "count": gpus})
    return {"type": "slot", "count": count, "with": inside, "label": "task"}


def node(count: int, inside: JSON, *, exclusive: bool = False) -> JSON:
    """Return a request for nodes with the slots `inside` on each; `exclusive`: for whole nodes."""
    made: JSON = {"type": "node", "count": count}
    if exclusive:
        made["exclusive"] = True
    return {**made, "with": [inside]}


def complete(spec: JSON, environment: Mapping[str, str], cwd: str) -> None:
    """Give a jobspec this environment and working directory where it has none."""
    system = system_of(spec)
    system.setdefault("environment", dict(environment))
    system.setdefault("cwd", cwd)


def setting(text: str) -> tuple[str, Any]:
    """Return name and value of NAME[=VALUE], as of --setopt and --setattr: JSON, else text; without one 1."""
    name, equals, value = text.partition("=")
    try:
        return name, json.loads(value) if equals else 1
    except ValueError:
        return name, value


def attribute_path(name: str) -> list[str]:
    """Return the keys below `attributes` of a name of --setattr: below `system` unless it has its group."""
    path = name.removeprefix(".").removeprefix("attributes.").split(".")
    return path if path[0] in ("user", "system") else ["system", *path]


def set_at(table: JSON, path: Iterable[str], value: Any) -> None:
    """Set a value in nested tables; replace values on its path that are no tables."""
    *parents, last = path
    for name in parents:
        below = table.setdefault(name, {})
        if not isinstance(below, dict):
            below = table[name] = {}
        table = below
    table[last] = value
