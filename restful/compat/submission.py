"""From the parameters of POST /v1/jobs/submit, in query or body, to a submission as /v2 has it. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from restful.compat import environment, options
from restful.compat.refusals import INVALID, LAUNCHER, NO_COMMAND, CompatRefusal
from restful.jobs import command_line
from restful.jobs.schema import Submission

if TYPE_CHECKING:
    from collections.abc import Mapping

PARAMETERS = (
    "command", "num_tasks", "cores_per_task", "gpus_per_task", "num_nodes", "exclusive", "option_flags",
    "envars", "workdir", "runtime", "is_launcher",
)  # fmt: skip
_COUNTS = {
    "num_tasks": "tasks", "num_nodes": "nodes", "cores_per_task": "cores_per_task",
    "gpus_per_task": "gpus_per_task",
}  # fmt: skip
"""Parameters that are counts, and the fields of a submission."""
_NAMES = {field: name for name, field in _COUNTS.items()} | {
    "cwd": "workdir",
    "time_limit": "runtime",
    "environment": "envars",
    "shell_options": "option_flags",
}
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")
_DIGITS = 9
"""Of a count in a text: int() of longer ones takes long."""


@dataclass(slots=True)
class _Reading:
    """The fields of a submission, and what was wrong so far."""

    given: Mapping[str, Any]
    fields: dict[str, Any] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def parameters(query: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """Return the parameters of a request; those of the body count where both have one.

    What is null, or unknown, is as if it was not there. Raises CompatRefusal for a body that is no object.
    """
    found: Any = {}
    if body.strip():
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            found = None
    if not isinstance(found, dict):
        raise CompatRefusal(400, "The body must be a JSON object, or empty with the parameters in the query.")
    given = {**query, **found}
    return {name: given[name] for name in PARAMETERS if given.get(name) is not None}


def submission(given: Mapping[str, Any]) -> Submission:
    """Return the submission of a request's parameters. Raises CompatRefusal with everything that is wrong."""
    if not given.get("command"):
        raise CompatRefusal(400, NO_COMMAND)
    reading = _Reading(given)
    if _flag(reading, "is_launcher"):
        raise CompatRefusal(403, LAUNCHER)
    _read_command(reading)
    _read_sizes(reading)
    _read_rest(reading)
    if reading.errors:
        raise CompatRefusal(400, INVALID, tuple(reading.errors))
    try:
        return Submission.model_validate(reading.fields)
    except ValidationError as error:
        raise CompatRefusal(400, INVALID, tuple(map(_sentence, error.errors(include_url=False)))) from None


def _read_command(reading: _Reading) -> None:
    """Read the words: of a text as a shell splits it, which starts no shell, or a list's."""
    command = reading.given["command"]
    if isinstance(command, list):
        words = [str(word) for word in command]
    else:
        try:
            words = command_line.split(str(command))
        except ValueError as error:
            reading.errors.append(f"'command' cannot be split into words: {error}")
            return
    if not words:
        raise CompatRefusal(400, NO_COMMAND)
    reading.fields["command"] = words


def _read_sizes(reading: _Reading) -> None:
    for name, target in _COUNTS.items():
        count = _count(reading, name, 0 if name == "gpus_per_task" else 1)
        if count is not None:
            reading.fields[target] = count
    seconds = _count(reading, "runtime", 0)
    if seconds is not None:
        reading.fields["time_limit"] = float(seconds)
    if _flag(reading, "exclusive"):
        reading.fields["exclusive"] = True


def _read_rest(reading: _Reading) -> None:
    given = reading.given
    flags, wrong = options.read(given.get("option_flags", {}))
    reading.errors += wrong
    reading.fields["shell_options"] = flags
    try:
        reading.fields["environment"] = environment.read(given.get("envars", {}))
    except ValueError as error:
        reading.errors.append(str(error))
    if given.get("workdir"):
        reading.fields["cwd"] = given["workdir"]


def _count(reading: _Reading, name: str, least: int) -> int | None:
    """Return a count: a whole number, or its digits. None: it is not there, or wrong."""
    value = reading.given.get(name)
    if value is None or value == "":
        return None
    number = _whole(value)
    if number is None:
        reading.errors.append(f"Parameter {name} must be a whole number, found {str(value)[:40]}")
    elif number < least:
        subject = "Runtime" if name == "runtime" else f"Parameter {name}"
        reading.errors.append(f"{subject} must be >= {least}, found {number}")
        return None
    return number


def _whole(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        digits = value.strip()
        plain = digits.removeprefix("-")
        return int(digits) if plain.isascii() and plain.isdigit() and len(plain) <= _DIGITS else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(reading: _Reading, name: str) -> bool:
    value = reading.given.get(name, False)
    word = str(value).strip().lower()
    if word not in _TRUE + _FALSE:
        reading.errors.append(f"Parameter {name} must be true or false, found {word[:40]}")
    return word in _TRUE


def _sentence(error: Any) -> str:
    """Return what pydantic has against a field, by the name that /v1 has for it."""
    first, *rest = error["loc"] or ("command",)
    name = ".".join(map(str, (_NAMES.get(first, first), *rest)))
    return f"{name[:200]}: {error['msg'].removeprefix('Value error, ')}"
