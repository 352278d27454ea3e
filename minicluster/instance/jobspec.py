"""A `JobRequest` as a jobspec version 1 (RFC 25), the same as `flux submit` makes from the same options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobspec as jobspecs
from minicluster.instance.errors import SubmitRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.instance.records import JobRequest

JSON = dict[str, Any]

_SCRIPT_MODE = 0o100700
"""Of a regular file that its owner executes."""
_SHELL_OF_BATCH = {"per-resource.type": "node", "mpi": "none", "exit-timeout": "none"}
"""One broker on each node. Brokers are no MPI program, and one may exit before the others."""


def jobspec(request: JobRequest, *, inherit: bool = True) -> JSON:
    """Return the jobspec. Raises SubmitRefused where fields of the request contradict each other.

    An environment and a working directory that the request does not give are this process's. Without
    `inherit` they are left out, and the process that submits the job fills in its own.
    """
    _check(request)
    per_node = request.tasks % request.nodes if request.nodes else 0
    count = {"total": request.tasks} if per_node else {"per_slot": 1}
    system = _system(request, inherit=inherit)
    return jobspecs.build(_command(request), _resources(request), count, system, request.attributes)


def _check(request: JobRequest) -> None:
    command: object = request.command
    if isinstance(command, str):
        raise SubmitRefused(f"command: {command!r} is one text; give a tuple of words, as ('python', 'a.py')")
    if not request.command:
        raise SubmitRefused("command: is empty; give the program and its arguments")
    if request.script and not request.script.startswith("#!"):
        raise SubmitRefused(f"{request.command[0]}: is no script: it does not begin with '#!'")
    if request.tasks < 1 or request.cores_per_task < 1:
        raise SubmitRefused("tasks and cores per task are at least 1")
    if request.gpus_per_task < 0 or request.nodes < 0 or request.duration < 0:
        raise SubmitRefused("GPUs per task, nodes and duration are not negative")
    if request.nodes > request.tasks:
        raise SubmitRefused(f"{request.nodes} nodes for {request.tasks} tasks: each node needs a task")
    if request.exclusive and not request.nodes:
        raise SubmitRefused("exclusive: give the number of nodes as well")


def _command(request: JobRequest) -> tuple[str, ...]:
    if not request.script:
        return request.command
    return ("flux", "broker", "{{tmpdir}}/script", *request.command[1:])


def _resources(request: JobRequest) -> JSON:
    slots = -(-request.tasks // request.nodes) if request.nodes else request.tasks
    slot = jobspecs.slot(slots, request.cores_per_task, request.gpus_per_task)
    return jobspecs.node(request.nodes, slot, exclusive=request.exclusive) if request.nodes else slot


def _system(request: JobRequest, *, inherit: bool) -> JSON:
    system: JSON = {"duration": request.duration}
    if request.environment is not None or inherit:
        system["environment"] = dict(os.environ if request.environment is None else request.environment)
    if request.cwd is not None or inherit:
        system["cwd"] = str(Path.cwd()) if request.cwd is None else request.cwd
    name = request.name or (Path(request.command[0]).name if request.script else "")
    if name:
        system["job"] = {"name": name}
    if request.queue:
        system["queue"] = request.queue
    if request.dependencies:
        system["dependencies"] = [_dependency(text) for text in request.dependencies]
    shell = {**(_SHELL_OF_BATCH if request.script else {}), **request.shell_options}
    if shell:
        system["shell"] = {"options": _nested(shell)}
    if request.script:
        script = {"mode": _SCRIPT_MODE, "data": request.script, "encoding": "utf-8"}
        system["files"] = {"script": script}
    for key, value in request.system.items():
        jobspecs.set_at(system, key.split("."), value)
    return system


def _dependency(text: str) -> JSON:
    scheme, colon, value = text.partition(":")
    if not (scheme and colon and value):
        raise SubmitRefused(f"dependency {text!r}: expected SCHEME:VALUE, like afterok:ƒ2FdCrT")
    return {"scheme": scheme, "value": value}


def _nested(options: Mapping[str, Any]) -> JSON:
    nested: JSON = {}
    for key, value in options.items():
        jobspecs.set_at(nested, key.split("."), value)
    return nested
