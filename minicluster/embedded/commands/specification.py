"""From the options of a submitting command to a jobspec V1 (RFC 14, RFC 25)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from broker_config.formats.jobspec import attribute_path, build, node, set_at, setting, slot
from minicluster.embedded.commands import constraints, submission
from minicluster.embedded.commands.console import fail, limit

if TYPE_CHECKING:
    import argparse

    from broker_config.formats.env_rules import Variables
    from minicluster.embedded.client import JSON


def jobspec(options: argparse.Namespace, command: list[str], variables: Variables) -> JSON:
    """Build the jobspec of `command` with the environment `variables`."""
    if not command:
        fail("job command and arguments are missing")
    options = submission.counted(options)
    shell: JSON = {}
    resources, count = _resources(options, shell)
    duration = limit(options.time_limit, 60.0)
    system: JSON = {"duration": 0 if duration is None else duration, "environment": variables.values}
    system["cwd"] = options.cwd or _directory()
    spec = build(command, resources, count, system)
    if options.job_name:
        system["job"] = {"name": options.job_name}
    _redirect(options, shell)
    if variables.templates:
        shell["env-expand"] = variables.templates
    for name, value in map(setting, options.setopt):
        set_at(shell, name.split("."), value)
    if shell:
        system["shell"] = {"options": shell}
    _placement(options, system)
    for name, value in map(setting, options.setattr):
        set_at(spec, ["attributes", *attribute_path(name)], value)
    return spec


def _directory() -> str:
    """Return the working directory with its links unresolved ($PWD), as Flux records it."""
    logical = os.environ.get("PWD", "")
    try:
        if logical.startswith("/") and os.path.samefile(logical, "."):  # noqa: PTH121 - pathlib is slow to import
            return logical
    except OSError:
        pass
    return os.getcwd()  # noqa: PTH109


def _resources(options: argparse.Namespace, shell: JSON) -> tuple[JSON, JSON]:
    """Return the resource request and the task count; tasks per node or core go into `shell`."""
    if options.nodes is not None and options.nodes < 1:
        fail("node count must be an integer >= 1 (if set)")
    if options.exclusive and not options.nodes:
        fail("exclusive can only be set with a node count")
    if not (options.cores or options.tasks_per_node or options.tasks_per_core):
        return _per_task(options)
    if options.ntasks or options.cores_per_task or options.gpus_per_task:
        fail("Per-resource options can't be used with per-task options. (See --help for details)")
    return _per_resource(options, shell)


def _per_resource(options: argparse.Namespace, shell: JSON) -> tuple[JSON, JSON]:
    nodes, cores = options.nodes, options.cores
    if not nodes and not cores:
        fail("must specify node or core count with per_resource")
    for kind, count in (("node", options.tasks_per_node), ("core", options.tasks_per_core)):
        if count:
            shell["per-resource"] = {"type": kind, "count": count}
    if not nodes:
        return slot(cores, 1), {"per_slot": 1}
    if cores and cores % nodes:
        fail("number of cores must be evenly divisible by node count")
    inside = slot(1, (cores or nodes) // nodes)
    return node(nodes, inside, exclusive=options.exclusive or not cores), {"per_slot": 1}


def _per_task(options: argparse.Namespace) -> tuple[JSON, JSON]:
    nodes = options.nodes
    tasks = options.ntasks or nodes or 1
    if tasks < 0:
        fail("task count must be a integer >= 1")
    size = (options.cores_per_task or 1, options.gpus_per_task or 0)
    if not nodes:
        return slot(tasks, *size), {"per_slot": 1}
    if nodes > tasks:
        fail("node count must not be greater than task count")
    count = {"per_slot": 1} if tasks % nodes == 0 else {"total": tasks}
    inside = slot(-(-tasks // nodes), *size)
    return node(nodes, inside, exclusive=options.exclusive or not options.ntasks), count


def _redirect(options: argparse.Namespace, shell: JSON) -> None:
    """Set `--input`, `--output`, `--error` and `--label-io`."""
    if options.input is not None:
        shell["input"] = {"stdin": {"type": "file", "path": options.input}}
    label = {"label": True} if options.label_io else {}
    for stream, path in (("stdout", options.output), ("stderr", options.error)):
        if path not in (None, "none", "kvs"):
            shell.setdefault("output", {})[stream] = {"type": "file", "path": path, **label}


def _placement(options: argparse.Namespace, system: JSON) -> None:
    if options.queue:
        system["queue"] = options.queue
    if options.dependency:
        system["dependencies"] = [_dependency(uri) for uri in options.dependency]
    if options.requires:
        terms = [constraints.parse(text) for text in options.requires]
        system["constraints"] = terms[0] if len(terms) == 1 else {"and": terms}


def _dependency(uri: str) -> JSON:
    scheme, _colon, value = uri.partition(":")
    if not scheme:
        fail(f'Invalid dependency URI "{uri}"')
    return {"scheme": scheme, "value": value}
