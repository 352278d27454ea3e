"""From the options of a submitting command to a jobspec V1 (RFC 14, RFC 25)."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from minicluster.embedded.commands import constraints
from minicluster.embedded.commands.console import fail, note, seconds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from minicluster.embedded.client import JSON


def jobspec(options: argparse.Namespace, command: list[str], variables: dict[str, str]) -> JSON:
    """Build the jobspec of `command` with the environment `variables`."""
    if not command:
        fail("job command and arguments are missing")
    shell: JSON = {}
    resources, count = _resources(options, shell)
    system: JSON = {"duration": _duration(options.time_limit), "environment": variables}
    system["cwd"] = options.cwd or _directory()
    spec: JSON = {
        "resources": resources,
        "tasks": [{"command": command, "slot": "task", "count": count}],
        "attributes": {"system": system},
        "version": 1,
    }
    if options.job_name:
        system["job"] = {"name": options.job_name}
    _redirect(options, shell)
    _shell_options(options, shell)
    if shell:
        system["shell"] = {"options": shell}
    _placement(options, system)
    for setting in options.setattr:
        _set_attribute(spec["attributes"], setting)
    return spec


def _directory() -> str:
    """The directory as the user sees it, links unresolved, as Flux records it."""
    logical = os.environ.get("PWD", "")
    try:
        if logical.startswith("/") and os.path.samefile(logical, "."):  # noqa: PTH121 - pathlib is slow to import
            return logical
    except OSError:
        pass
    return os.getcwd()  # noqa: PTH109


def _duration(limit: str | None) -> float:
    if limit is None:
        return 0
    try:
        return float(limit) * 60.0 if limit[-1:].isdigit() or limit[-1:] == "." else seconds(limit)
    except ValueError:
        fail("invalid Flux standard duration")


def _number(options: argparse.Namespace, name: str) -> int | None:
    text = getattr(options, name, None)
    if text is None:
        return None
    flag = "--" + options.spelling.get(name, name.replace("_", "-"))
    try:
        return int(text)
    except ValueError:
        fail(f"{flag}: invalid int value '{text}'")


def _resources(options: argparse.Namespace, shell: JSON) -> tuple[list[JSON], JSON]:
    """The resources section and the task count; tasks per node or core go to the shell."""
    nodes = _positive(_number(options, "nodes"), "node count")
    if options.exclusive and not nodes:
        fail("exclusive can only be set with a node count")
    names = ("cores", "tasks_per_node", "tasks_per_core", "gpus_per_node")
    per_resource = {name: _number(options, name) for name in names}
    per_task = any(getattr(options, name) for name in ("ntasks", "cores_per_task", "gpus_per_task"))
    if any(per_resource.values()):
        if per_resource["gpus_per_node"] and not nodes:
            fail("--gpus-per-node requires --nodes")
        if per_task:
            fail("Per-resource options can't be used with per-task options. (See --help for details)")
        return _per_resource(nodes, per_resource, options.exclusive, shell)
    return _per_task(options, nodes)


def _positive(count: int | None, what: str) -> int | None:
    if count is not None and count < 1:
        fail(f"{what} must be an integer >= 1 (if set)")
    return count


def _per_resource(
    nodes: int | None, wanted: dict[str, int | None], exclusive: bool, shell: JSON
) -> tuple[list[JSON], JSON]:
    cores, gpus = wanted["cores"], wanted["gpus_per_node"]
    if not nodes and not cores:
        fail("must specify node or core count with per_resource")
    for name, kind in (("tasks_per_node", "node"), ("tasks_per_core", "core")):
        if wanted[name]:
            shell["per-resource"] = {"type": kind, "count": wanted[name]}
    if not nodes:
        return [_slot(cores or 1, 1, 0)], {"per_slot": 1}
    if cores and cores % nodes:
        fail("number of cores must be evenly divisible by node count")
    slot = _slot(1, (cores or nodes) // nodes, gpus or 0)
    return [_node(nodes, slot, exclusive or not cores)], {"per_slot": 1}


def _per_task(options: argparse.Namespace, nodes: int | None) -> tuple[list[JSON], JSON]:
    tasks = _number(options, "ntasks") or nodes or 1
    if tasks < 0:
        fail("task count must be a integer >= 1")
    slot = (_number(options, "cores_per_task") or 1, _number(options, "gpus_per_task") or 0)
    if not nodes:
        return [_slot(tasks, *slot)], {"per_slot": 1}
    if nodes > tasks:
        fail("node count must not be greater than task count")
    exclusive = options.exclusive or not _number(options, "ntasks")
    each = -(-tasks // nodes)
    count = {"per_slot": 1} if tasks % nodes == 0 else {"total": tasks}
    return [_node(nodes, _slot(each, *slot), exclusive)], count


def _slot(count: int, cores: int, gpus: int) -> JSON:
    inside = [{"type": "core", "count": cores}]
    if gpus:
        inside.append({"type": "gpu", "count": gpus})
    return {"type": "slot", "count": count, "with": inside, "label": "task"}


def _node(count: int, slot: JSON, exclusive: bool) -> JSON:
    return {"type": "node", "count": count, **({"exclusive": True} if exclusive else {}), "with": [slot]}


def _redirect(options: argparse.Namespace, shell: JSON) -> None:
    """`--input`, `--output`, `--error`, `--label-io`, `--unbuffered`."""
    if options.input is not None:
        shell["input"] = {"stdin": {"type": "file", "path": options.input}}
    extra: JSON = {}
    if options.label_io:
        extra["label"] = True
    if options.unbuffered:
        extra["buffer"] = {"type": "none"}
    for stream, path in (("stdout", options.output), ("stderr", options.error)):
        if path not in (None, "none", "kvs"):
            shell.setdefault("output", {})[stream] = {"type": "file", "path": path, **extra}
        elif options.unbuffered:
            shell.setdefault("output", {})[stream] = {"buffer": {"type": "none"}}


def _shell_options(options: argparse.Namespace, shell: JSON) -> None:
    for setting in options.setopt:
        name, value = _value(setting, "--setopt")
        _set_at(shell, name.split("."), value)


def _placement(options: argparse.Namespace, system: JSON) -> None:
    for name in ("queue", "bank"):
        if getattr(options, name):
            system[name] = getattr(options, name)
    depends = [_dependency(uri) for uri in options.dependency]
    if options.begin_time:
        depends.append({"scheme": "begin-time", "value": str(_begin(options.begin_time))})
    if depends:
        system["dependencies"] = depends
    if options.requires:
        terms = [constraints.parse(text) for text in options.requires]
        system["constraints"] = terms[0] if len(terms) == 1 else {"and": terms}
    if files := [_file(argument) for argument in options.add_file]:
        system["files"] = dict(files)


def _begin(text: str) -> float:
    try:
        return time.time() + seconds(text[1:]) if text.startswith("+") else float(text)
    except ValueError:
        fail(f"--begin-time: '{text}' is neither +DURATION nor seconds since the epoch")


def _dependency(uri: str) -> JSON:
    """SCHEME:VALUE[?KEY=VAL&…] (RFC 26)."""
    rest, _question, query = uri.partition("?")
    scheme, _colon, value = rest.partition(":")
    if not scheme:
        fail(f'Invalid dependency URI "{uri}"')
    if scheme == "after":
        note("dependency scheme 'after' is deprecated, use 'afterstart'")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return {"scheme": scheme, "value": value, **{key: text for key, _equals, text in pairs}}


def _file(argument: str) -> tuple[str, JSON]:
    name, equals, path = argument.partition("=")
    path = path if equals else name
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            data = file.read()
    except OSError as error:
        fail(f"--add-file={argument}: {error}")
    name = name if equals else os.path.basename(path)  # noqa: PTH119
    return name, {"mode": os.stat(path).st_mode, "size": len(data), "data": data, "encoding": "utf-8"}  # noqa: PTH116


def _value(setting: str, flag: str) -> tuple[str, Any]:
    """NAME[=VALUE], the value as JSON where it is; ^NAME=FILE takes JSON from the file."""
    name, equals, text = setting.partition("=")
    if name.startswith("^"):
        try:
            with open(text, encoding="utf-8") as file:  # noqa: PTH123
                return name[1:], json.load(file)
        except (OSError, ValueError) as error:
            fail(f"{flag}: {error}" if isinstance(error, OSError) else f"{flag}: {text}: {error}")
    if not equals:
        return name, 1
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text


def _set_attribute(attributes: JSON, setting: str) -> None:
    """`--setattr`: keys are below system unless they say user, system or attributes themselves."""
    name, value = _value(setting, "--setattr")
    path = name.removeprefix(".").removeprefix("attributes.").split(".")
    if path[0] not in ("user", "system"):
        path.insert(0, "system")
    _set_at(attributes, path, value)


def _set_at(table: JSON, path: Iterable[str], value: Any) -> None:
    *parents, last = path
    for name in parents:
        below = table.setdefault(name, {})
        if not isinstance(below, dict):
            below = table[name] = {}
        table = below
    table[last] = value
