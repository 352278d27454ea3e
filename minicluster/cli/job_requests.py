"""From the options of `submit` to the requests for its jobs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from broker_config.formats import durations, env_rules, idset, jobspec
from broker_config.formats.errors import DurationError, EnvRuleError, IdsetError
from minicluster.cli import launchers, slurm_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from minicluster.instance.records import JobRequest

_URGENCIES = {"hold": 0, "default": 16, "expedite": 31}
_CC = re.compile(r"(?<!\{)\{cc\}(?!\})")
BURSTABLE = "burstable"
"""The attribute of jobs that may burst, where a document names no other one."""
_AS_THEY_ARE = {"environment", "script"}
"""Fields of a request in which {cc} is not replaced."""


def queued(
    request: JobRequest, queue: str, dependencies: Iterable[str], urgency: str, duration: float
) -> JobRequest:
    """Return a request with what decides when it runs, and for how long. Raises BadParameter."""
    dependencies = tuple(dependencies)
    for each in dependencies:
        if apart := slurm_words.jobs_apart(each):
            message = f"{each!r} names several jobs; right would be {apart}"
            raise typer.BadParameter(message, param_hint="--dependency")
    return replace(
        request,
        queue=queue,
        dependencies=dependencies,
        urgency=urgency_of(urgency, "--urgency"),
        duration=duration,
    )


def time_limit(text: str, minutes: str) -> float:
    """Return the seconds of --time-limit, or of -t, whose numbers are minutes. Raises BadParameter."""
    if text and minutes:
        message = f"give it or -t, not both: {text!r} would be seconds, {minutes!r} minutes"
        raise typer.BadParameter(message, param_hint="--time-limit")
    return seconds(text, "--time-limit") if text else seconds(minutes or "0", "-t", 60.0)


def seconds(text: str, option: str, unit: float = 1.0) -> float:
    """Return a duration (RFC 23); a number without a unit is one of `unit`. Raises BadParameter."""
    try:
        return durations.given(text, unit)
    except DurationError as error:
        ours = slurm_words.duration(text)
        words = f"in place of Slurm's {text} there is {ours}, see {slurm_words.PAGE}" if ours else str(error)
        raise typer.BadParameter(words, param_hint=option) from error


def urgency_of(text: str, option: str) -> int:
    """Return the urgency that a word or a number names, 0 to 31. Raises BadParameter."""
    number = _URGENCIES.get(text.lower(), int(text) if text.isdecimal() else -1)
    if not 0 <= number <= 31:
        message = f"{text!r} is no urgency; right would be 0 to 31, {', '.join(_URGENCIES)}"
        raise typer.BadParameter(message, param_hint=option)
    return number


def with_shell_options(
    request: JobRequest, files: Sequence[str], settings: Iterable[str], *, label: bool
) -> JobRequest:
    """Return a request with files for standard input, output, error, and with the settings of --setopt.

    Without a file standard input is empty: a program that reads it would else wait for an attach for ever.
    """
    found: dict[str, Any] = {}
    given = dict(map(jobspec.setting, settings))
    if not files[0] and not any(name.partition(".")[0] == "input" for name in given):
        files = ("/dev/null", *files[1:])
    for stream, path in zip(("input.stdin", "output.stdout", "output.stderr"), files, strict=True):
        if path in {"none", "kvs"}:
            found[f"{stream}.type"] = path
        elif path:
            found |= {f"{stream}.type": "file", f"{stream}.path": path}
            found |= {f"{stream}.label": True} if label and stream != "input.stdin" else {}
    return replace(request, shell_options={**found, **given})


def with_attributes(
    request: JobRequest, settings: Iterable[str], burst: str | bool = False, results: Sequence[str] = ()
) -> JobRequest:
    """Return a request with the attributes of --setattr, and that it may burst, at any provider or at one.

    `results` are files that are brought back from where it runs. Raises BadParameter.
    """
    found: dict[str, dict[str, Any]] = {"user": {}, "system": {}}
    for setting in settings:
        name, value = jobspec.setting(setting)
        jobspec.set_at(found, jobspec.attribute_path(name), value)
    if burst:
        found["system"][BURSTABLE] = burst
    for path in results:
        if not path or path.startswith("/") or ".." in path.split("/"):
            message = f"{path!r}: right is a path below the job's directory, such as out/data.h5"
            raise typer.BadParameter(message, param_hint="--results")
    if results:
        jobspec.set_at(found["user"], ("burst", "results"), list(results))
    return replace(request, attributes=found["user"], system=found["system"])


def bursts(request: JobRequest) -> bool:
    """Return whether a request may burst."""
    return bool(request.system.get(BURSTABLE))


def whole_nodes(ctx: typer.Context, request: JobRequest) -> JobRequest:
    """Return a batch script's request, as by Flux: nodes without a number of tasks are whole ones."""
    source = ctx.get_parameter_source("tasks")
    alone = request.nodes > 0 and source is not None and source.name == "DEFAULT"
    return replace(request, exclusive=request.exclusive or alone)


def notices(request: JobRequest, files: Mapping[str, str], base: Mapping[str, str] | None) -> Iterator[str]:
    """Yield what the user should know of a request.

    `files` are the names of files by their options. `base` is as for `copies`.
    """
    for option, path in files.items():
        yield from slurm_words.percents(option, path)
    if bursts(request) and not request.duration:
        yield (
            "a burstable job without a time limit has no cost at worst: it bursts only where"
            " spec.bursting.select.assumeSeconds is set; -t sets one"
        )
    if request.script:
        yield from slurm_words.unknown_directives(request.command[0], request.script)
        return
    yield from launchers.notice(request.command, request.tasks)
    if base is not None:
        yield from _no_program(request, base)


def _no_program(request: JobRequest, base: Mapping[str, str]) -> Iterator[str]:
    """Yield a notice if the program is a file of the job's directory that no shell would run."""
    program = request.command[0]
    file = Path(request.cwd or "", program)
    if not file.is_file():
        return
    if "/" in program and not os.access(file, os.X_OK):
        yield f"{program} is not executable: `chmod +x {program}`, or --batch for a batch script"
    elif "/" not in program and shutil.which(program, path=base.get("PATH")) is None:
        yield f"{program} is no program on PATH, but a file: ./{program} runs it, --batch a batch script"


def in_directory(request: JobRequest, cwd: str, *, here: bool) -> JobRequest:
    """Return a request with a working directory; where jobs run `here`, it is one of this process's."""
    return replace(request, cwd=str(Path(cwd).absolute()) if here else cwd) if cwd else request


def ids(text: str) -> Sequence[int | None]:
    """Return the ids of --cc; one that is None without it. Raises BadParameter."""
    if not text:
        return (None,)
    try:
        found = idset.decode(text)
    except IdsetError as error:
        message = f"{error}{slurm_words.steps(text)}"
        raise typer.BadParameter(message, param_hint="--cc") from error
    if not found:
        raise typer.BadParameter(f"{text}: has no ids; right would be 0-9 or 1,3", param_hint="--cc")
    return found


def copies(
    template: JobRequest, rules: Sequence[str], numbers: Iterable[int | None], base: Mapping[str, str] | None
) -> Iterator[JobRequest]:
    """Yield a request for each id. `base` is the environment before the rules; None: jobs get the lead's.

    Raises BadParameter.
    """
    for number in numbers:
        request = _filled_request(template, number)
        if base is None:
            yield request
            continue
        found = _environment([_filled(rule, number) for rule in rules], base)
        own = {} if number is None else {"FLUX_JOB_CC": str(number)}
        shell = {"env-expand": found.templates} if found.templates else {}
        yield replace(
            request,
            environment={**found.values, **own},
            shell_options={**request.shell_options, **shell},
        )


def _environment(rules: Sequence[str], base: Mapping[str, str]) -> env_rules.Variables:
    try:
        return env_rules.apply(rules, base, os.environ, _read)
    except (EnvRuleError, OSError, UnicodeError) as error:
        raise typer.BadParameter(str(error).removeprefix("--env: "), param_hint="--env") from error


def _read(path: str) -> str:
    return Path(path).expanduser().read_text(encoding="utf-8")


def _filled_request(template: JobRequest, number: int | None) -> JobRequest:
    """Return a request with the id in place of each {cc}."""
    if number is None:
        return template
    names = {field.name for field in fields(template)} - _AS_THEY_ARE
    return replace(template, **{name: _filled(getattr(template, name), number) for name in names})


def _filled(value: Any, number: int | None) -> Any:
    if number is None:
        return value
    if isinstance(value, str):
        return _CC.sub(str(number), value)
    if isinstance(value, Mapping):
        return {key: _filled(each, number) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_filled(each, number) for each in value)
    return value
