"""The form for a job, made from the schema of a submission: its fields, their texts, and what they mean.

An example. `time_limit` is a number or a text in the schema: a field of text. `environment` is an object of
texts: a field of several lines, each NAME=VALUE. A field that the schema gets later is in the form by itself.
No I/O.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from restful.errors import FieldError, HttpProblem
from restful.jobs import command_line
from restful.jobs.schema import Submission
from restful.page.forms import SentForm, number, validated

JSON = dict[str, Any]

FIRST = ("command", "tasks", "nodes", "cores_per_task", "time_limit", "queue", "name")
"""Shown at once, in this order; the others are one click away."""
LONG_TEXTS = frozenset({"script", "input"})
"""Texts of several lines."""
LABELS = {"cwd": "Working directory", "gpus_per_task": "GPUs per task", "exclusive": "Whole nodes only"}
"""Labels that are not the field's name with spaces."""
HINTS = {
    "tasks": "None: one, or one a node where nodes are given.",
    "command": "Split into words as a shell does, which starts none: for pipes and variables sh -c '…'",
    "dependencies": "One a line.",
    "environment": "One a line, as NAME=value.",
    "jobspec": "As JSON.",
    "shell_options": "As JSON.",
}
"""How a form's text is read, where that is not plain."""


class FieldKind(NamedTuple):
    """How a field looks, and how its text is read."""

    control: str
    """"line", "number", "lines" or "checkbox"."""
    read: Callable[[str], Any]
    """Raises ValueError, with a message for people."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field."""

    name: str
    """Of a part of an object with a dot, such as elastic.min."""
    label: str
    note: str
    kind: FieldKind
    default: str
    """What an empty number means; empty: see the note."""
    minimum: int | None = None
    maximum: int | None = None

    @property
    def group(self) -> str:
        """Return the object that it is part of; empty: none."""
        return self.name.rpartition(".")[0]


def _words(text: str) -> list[str]:
    try:
        return command_line.split(text)
    except ValueError as error:
        raise ValueError(f"cannot be split into words: {str(error).lower()}") from None


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _variables(text: str) -> dict[str, str]:
    found = {}
    for line in _lines(text):
        name, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"{line[:40]!r} has no =")
        found[name.strip()] = value
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is no JSON") from None


def _text(text: str) -> str:
    return text.replace("\r\n", "\n")


_YES = {"true": True, "yes": True, "false": False, "no": False}
LINE = FieldKind("line", str.strip)
NUMBER = FieldKind("number", number)
CHECKBOX = FieldKind("checkbox", lambda text: text == "on")
WORDS = FieldKind("line", _words)
YES_OR_NAME = FieldKind("line", lambda text: _YES.get(text.strip().lower(), text.strip()))


def _kind(name: str, schema: JSON) -> FieldKind:
    """Return the kind of a field of the JSON schema."""
    match _type(schema):
        case "boolean":
            return CHECKBOX
        case "integer":
            return NUMBER
        case "array":
            return WORDS if name == "command" else FieldKind("lines", _lines)
        case "object":
            return FieldKind("lines", _variables if _of_texts(schema) else _json)
        case _ if name == "burstable":
            return YES_OR_NAME
        case _:
            return FieldKind("lines", _text) if name in LONG_TEXTS else LINE


def _of_texts(schema: JSON) -> bool:
    """Return whether all values of an object are texts."""
    values = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
    return any(isinstance(each, dict) and each.get("type") == "string" for each in values)


def _type(schema: JSON) -> str:
    """Return the type of a field, of those that may be null as well the other one; of several, `string`."""
    return str(schema["type"]) if "type" in schema else "string"


def _plain(schema: JSON, definitions: JSON) -> JSON:
    """Return a field's schema without null, and with what it refers to."""
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if len(choices) == 1:
        schema = {**choices[0], **{key: each for key, each in schema.items() if key != "anyOf"}}
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], **schema}
    return schema


@cache
def fields() -> tuple[FormField, ...]:
    """Return the fields of the form, in the order of the schema."""
    schema = Submission.model_json_schema()
    return tuple(_fields(schema, schema["$defs"], ""))


def _fields(schema: JSON, definitions: JSON, above: str) -> Iterable[FormField]:
    for name, given in schema["properties"].items():
        found = _plain(given, definitions)
        if "properties" in found:
            yield from _fields(found, definitions, f"{above}{name}.")
        else:
            yield _field(f"{above}{name}", name, found)


def _field(path: str, name: str, schema: JSON) -> FormField:
    words = name.replace("_", " ")
    note = f"{schema.get('description', '')} {HINTS.get(path, '')}".strip().replace("`", "")
    default = schema.get("default")
    return FormField(
        path, LABELS.get(path, f"{words[:1].upper()}{words[1:]}"), note, _kind(path, schema),
        f"{default:g}" if default else "", schema.get("minimum"), schema.get("maximum"),
    )  # fmt: skip


def empty() -> dict[str, str]:
    """Return the texts of a form that nobody has filled in."""
    return {each.name: "" for each in fields()}


def texts(form: SentForm) -> dict[str, str]:
    """Return the texts of a form that was sent."""
    return {each.name: form.one(each.name) for each in fields()}


def submission(filled: Mapping[str, str]) -> Submission:
    """Return the job that a form describes. Raises HttpProblem "invalid", with the fields."""
    values: JSON = {}
    wrong: list[FieldError] = []
    for each in fields():
        text = filled[each.name]
        if not text.strip():
            continue
        try:
            _set(values, each.name, each.kind.read(text))
        except ValueError as error:
            wrong.append(FieldError(each.name, str(error)))
    if not any(filled[name].strip() for name in ("command", "script", "jobspec")):
        wrong.append(FieldError("command", "is empty"))
    try:
        found = validated(Submission, values)
    except HttpProblem as problem:
        # Rules about several fields mean nothing where one of them could not be read.
        wrong += [each for each in problem.errors if not wrong or each.path != "form"]
    if wrong:
        raise HttpProblem("invalid", "", tuple(wrong))
    return found


def _set(values: JSON, path: str, value: Any) -> None:
    group, _, name = path.rpartition(".")
    (values.setdefault(group, {}) if group else values)[name] = value


def errors(problem: HttpProblem | None) -> dict[str, list[str]]:
    """Return what is wrong with each field; under "" what is about none of them, or about several."""
    found: dict[str, list[str]] = {}
    if problem is None:
        return found
    for each in problem.errors:
        name, message = _field_of(each)
        found.setdefault(name, []).append(message)
    if not found:
        found[""] = [str(problem.body("")["detail"])]
    return found


def _field_of(error: FieldError) -> tuple[str, str]:
    """Return the field that an error is about, and the message without its name."""
    names = [each.name for each in fields()]
    path = error.path.strip("/").removeprefix("attributes/system/").replace("/", ".")
    for candidate in (path, path.partition(".")[0]):
        if candidate in names:
            return candidate, error.message
    name, colon, rest = error.message.partition(": ")  # as the schema's own rules write it
    if colon and name in names:
        return name, rest
    parts = [each for each in names if path and each.startswith(f"{path}.")]
    return (parts[0], error.message) if parts else ("", f"{error.path} {error.message}".strip())
