"""What users may not put into a jobspec, of either form of a submission. Pure.

Rules are lists of what is allowed, wherever such a list can be made: what a later release of Flux adds is
refused until somebody has looked at it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats.jobspec import command_of, shell_options, system_of, user_of
from restful.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from restful.settings import JobLimits

USER_REFUSED = ("minicluster", "companion_of", "restart_of", "main", "task")
"""Keys of `attributes.user` by which the service, restarts and the scheduler know jobs."""
SYSTEM_ALLOWED = (
    "duration", "environment", "cwd", "queue", "bank", "project", "job", "dependencies", "constraints",
    "shell", "files", "burstable",
)  # fmt: skip
"""Not among them: `exec` (test runs that run nothing), `alloc-bypass` (resources that others have)."""
SHELL_ALLOWED = (
    "verbose", "mpi", "pmi", "cpu-affinity", "gpu-affinity", "exit-timeout", "exit-on-error", "signal",
    "per-resource.type", "per-resource.count", "taskmap", "hwloc",
    "output.limit", "output.mode", "output.stdout.label", "output.stderr.label",
    "output.stdout.buffer.type", "output.stderr.buffer.type",
)  # fmt: skip
"""Not among them: `initrc` and `userrc` (files that the shell runs), `pty` (a server), `input` (files)."""
PATHS = ("output.stdout.path", "output.stderr.path")
"""Options that are paths: below the working directory, unless the cluster allows others."""
_PROVIDER = re.compile(r"[A-Za-z0-9.-]{1,63}")
_TYPES = ("output.stdout.type", "output.stderr.type")


class Rules(NamedTuple):
    """What differs between clusters."""

    limits: JobLimits
    any_output_path: bool = False
    """Whether output may go outside the working directory. Jobs of a shared instance have one account."""


def problems(jobspec: Mapping[str, Any], rules: Rules) -> Iterator[FieldError]:
    """Yield what is not allowed in a jobspec that is valid otherwise; paths are those of the jobspec."""
    for key in user_of(jobspec):
        if key in USER_REFUSED:
            yield _refused(f"/attributes/user/{_escaped(key)}", "is the service's own")
    system = system_of(jobspec)
    for key in system:
        if key not in SYSTEM_ALLOWED:
            allowed = ", ".join(SYSTEM_ALLOWED)
            yield _refused(f"/attributes/system/{_escaped(key)}", f"is not for users; allowed are {allowed}")
    burstable = system.get("burstable", False)
    is_name = isinstance(burstable, str) and _PROVIDER.fullmatch(burstable)
    if not is_name and burstable not in (True, False):
        yield FieldError("/attributes/system/burstable", "is true, false or the name of a provider")
    yield from _results(user_of(jobspec))
    yield from _shell(jobspec, rules)
    yield from _files(system.get("files", {}))
    yield from _sizes(jobspec, rules.limits)
    cwd = system.get("cwd")
    if isinstance(cwd, str) and (not cwd.startswith("/") or "\0" in cwd):
        yield FieldError("/attributes/system/cwd", "begins with /: the service's own directory means nothing")


def _results(user: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield what are no files below the working directory: others are nobody's to bring back."""
    burst = user.get("burst")
    found = burst.get("results", []) if isinstance(burst, dict) else []
    are_paths = isinstance(found, list) and all(isinstance(each, str) and each for each in found)
    if not are_paths or any(each.startswith("/") or ".." in each.split("/") for each in found):
        yield FieldError("/attributes/user/burst/results", "is a list of paths below the working directory")


def _refused(path: str, reason: str) -> FieldError:
    return FieldError(path, f"{path.rpartition('/')[2]} {reason}")


def _shell(jobspec: Mapping[str, Any], rules: Rules) -> Iterator[FieldError]:
    shell = system_of(jobspec).get("shell", {})
    path = "/attributes/system/shell"
    if not isinstance(shell, dict) or not isinstance(shell.get("options", {}), dict):
        yield FieldError(path, "is an object with `options`, an object")
        return
    for key in shell:
        if key != "options":
            yield _refused(f"{path}/{_escaped(key)}", "is not for users: `options` is all of it")
    for name, value in _flat(shell_options(jobspec)):
        at = f"{path}/options/{_escaped(name).replace('.', '/')}"
        if name in PATHS:
            if not rules.any_output_path and not _below(value):
                yield FieldError(
                    at, "is a path below the working directory: without / in front, and without .."
                )
        elif name in _TYPES:
            if value not in ("kvs", "file"):
                yield FieldError(at, "is kvs or file")
        elif name not in SHELL_ALLOWED:
            allowed = ", ".join((*SHELL_ALLOWED, *PATHS))
            yield FieldError(at, f"the shell option {name} is not for users; allowed are {allowed}")


def _flat(options: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each option with its whole name, with dots between levels."""
    for key, value in options.items():
        name = f"{above}{key}"
        if isinstance(value, dict) and value and name not in SHELL_ALLOWED:
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _below(path: Any) -> bool:
    if not isinstance(path, str) or not path or "\0" in path:
        return False
    return not path.startswith("/") and ".." not in path.split("/")


def _files(files: Any) -> Iterator[FieldError]:
    """Check the files that come with a job: names in its own temporary directory, and contents as texts."""
    path = "/attributes/system/files"
    if not isinstance(files, dict):
        yield FieldError(path, "is an object of files by their names")
        return
    for name, file in files.items():
        at = f"{path}/{_escaped(name)}"
        if "/" in name or name in ("", ".", ".."):
            yield FieldError(at, "is a name without /: the file comes into the job's own directory")
        if isinstance(file, dict) and not isinstance(file.get("data", ""), str | dict):
            yield FieldError(at, "has its content in `data`")


def _sizes(jobspec: Mapping[str, Any], limits: JobLimits) -> Iterator[FieldError]:
    command = command_of(jobspec)
    size = sum(len(str(word).encode()) + 1 for word in command)
    if size > limits.command_bytes:
        yield FieldError("/tasks/0/command", f"has {size} bytes; the limit is {limits.command_bytes}")
    if any("\0" in str(word) for word in command):
        yield FieldError("/tasks/0/command", "has a NUL in it")
    environment = system_of(jobspec).get("environment", {})
    at = "/attributes/system/environment"
    if len(environment) > limits.environment_entries:
        yield FieldError(at, f"has {len(environment)} variables; the limit is {limits.environment_entries}")
    size = sum(len(f"{name}={value}".encode()) + 1 for name, value in environment.items())
    if size > limits.environment_bytes:
        yield FieldError(at, f"has {size} bytes; the limit is {limits.environment_bytes}")
    if any("\0" in f"{name}{value}" or "=" in name or not name for name, value in environment.items()):
        yield FieldError(at, "has a variable with NUL in it, or with = in its name, or without a name")


def _escaped(key: str) -> str:
    """Return a key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
