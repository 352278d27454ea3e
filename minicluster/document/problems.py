"""Makes a `Problem` that a user can mend of each error of pydantic.

Its message has what was found, what the schema allows, and the nearest field.
"""

from __future__ import annotations

import difflib
import re
import shlex
from typing import TYPE_CHECKING, Any

from minicluster.document import messages, schema
from minicluster.document.errors import Problem
from minicluster.document.positions import written_path

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from minicluster.document.positions import Located, Path
    from minicluster.document.structural import SchemaNode

# Never quoted: they contain keys.
SECRET_FIELDS = frozenset({"curveCert", "brokerConfig"})
MAX_QUOTED = 40
_FACTS = {"object": "a mapping", "array": "a list", "boolean": "true or false"}
_SIZED: dict[str, type] = {"object": dict, "array": list}


def problem(error: ErrorDetails, document: Located, source: str) -> Problem | None:
    """Return the problem of an error; None if another error has the same cause."""
    path = path_of(error)
    if error["type"] == "extra_forbidden":
        return unknown_field(path, document, source)
    if error["type"] == "missing":
        allowed = _allowed(path)
        return _made(path, f"missing; allowed is {allowed}", document, source, allowed=allowed)
    if error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"]:
        # Pydantic does not count entries that are wrong; these have their own errors.
        return None
    if error["loc"] and error["loc"][-1] == "[key]":
        return _bad_key(path, error, document, source)
    return _bad_value(path, error, document, source)


def path_of(error: ErrorDetails) -> Path:
    """Return the path in the document; pydantic's path of a map's bad key ends with `[key]`."""
    return tuple(step for step in error["loc"] if step != "[key]")


def _made(path: Path, message: str, document: Located, source: str, **facts: str) -> Problem:
    position = document.position(path)
    if facts.get("hint"):
        message = f"{message}; {facts['hint']}"
    return Problem(
        written_path(path), message, position.line, position.column, source=source, **_without_none(facts)
    )


def _without_none(facts: dict[str, str]) -> dict[str, str]:
    return {name: fact for name, fact in facts.items() if fact}


_OF_KUBERNETES = {"env": "environment", "replicas": "size"}
"""What fields of Kubernetes' own documents are called here."""


def unknown_field(path: Path, document: Located, source: str) -> Problem:
    """Return the problem of an unknown field, with the field that was probably meant."""
    known = schema.fields(schema.at(path[:-1]))
    near = _OF_KUBERNETES.get(str(path[-1]), "")
    near = near if near in known else nearest(str(path[-1]), known)
    elsewhere = schema.homes().get(str(path[-1]))
    if near:
        hint = f'did you mean "{near}"?'
    elif elsewhere:
        hint = f'did you mean "{elsewhere}"?'
    else:
        hint = f"known here: {', '.join(known)}"
    return _made(path, "unknown field", document, source, found=str(path[-1]), hint=hint)


def meant(error: ErrorDetails, document: Located) -> str:
    """Return the field that was probably meant by an unknown one; empty: none, or it stands beside it."""
    if error["type"] != "extra_forbidden":
        return ""
    path = path_of(error)
    near = nearest(str(path[-1]), schema.fields(schema.at(path[:-1])))
    return "" if document.has((*path[:-1], near)) else near


def nearest(name: str, known: tuple[str, ...]) -> str:
    """Return the known name most like `name`, in any case; empty: none is like it."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    for written in (plain, plain.removesuffix("s"), f"{plain}s"):
        if written in by_lower:
            return by_lower[written]
    near = difflib.get_close_matches(plain, by_lower, 1)
    return by_lower[near[0]] if near else ""


def _bad_key(path: Path, error: ErrorDetails, document: Located, source: str) -> Problem:
    allowed = error.get("ctx", {}).get("allowed") or "a shorter name"
    return _made(path, f"{messages.BAD_NAME} {allowed}", document, source, allowed=allowed)


def _bad_value(path: Path, error: ErrorDetails, document: Located, source: str) -> Problem:
    found = described(error["input"], path)
    allowed = error["ctx"]["allowed"] if error["type"] == "shape" else _allowed(path, error["input"])
    hint = "" if SECRET_FIELDS.intersection(path) else _hint(error["input"], path, document)
    message = f"found {found}, allowed is {allowed}"
    return _made(path, message, document, source, found=found, allowed=allowed, hint=hint)


def described(value: Any, path: Path = ()) -> str:
    """Return a description of a value for messages."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {_short(str(value))}"
    if isinstance(value, str):
        withheld = SECRET_FIELDS.intersection(path) or len(value) > 10 * MAX_QUOTED
        return f"a text of {len(value)} characters" if withheld else f"the text {_quoted(value)}"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    return "a mapping"


def _short(text: str) -> str:
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"


def _quoted(text: str) -> str:
    return '"' + _short(text).replace("\n", "\\n").replace('"', '\\"') + '"'


def _allowed(path: Path, value: Any = None) -> str:
    """Return what the schema allows at a path; bounds only for a value of the right type."""
    node = schema.at(path)
    if "enum" in node:
        return " or ".join(f'"{word}"' for word in node["enum"] if word)
    if "x-kubernetes-int-or-string" in node:
        return 'a quantity, such as 2, "500m", "1.5" or "4Gi"'
    kind = node.get("type", "object")
    if kind == "integer":
        return _whole_number(node)
    if kind == "string":
        return _text(node) if isinstance(value, str) else "a text"
    if isinstance(value, _SIZED.get(kind, ())):
        return f"{_FACTS[kind]} of {_entries(node)} entries"
    return _FACTS[kind]


def _text(node: SchemaNode) -> str:
    if node.get("minLength"):
        return f"a text of {node['minLength']} to {node['maxLength']} characters"
    return f"a text of at most {node['maxLength']} characters"


def _entries(node: SchemaNode) -> str:
    most = node.get("maxItems") or node.get("maxProperties")
    return f"{node['minItems']} to {most}" if node.get("minItems") else f"at most {most}"


def _whole_number(node: SchemaNode) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if high is None:
        return f"a whole number of at least {low}"
    return f"a whole number from {low} to {high}"


def _hint(value: Any, path: Path, document: Located) -> str:
    """Return how to write what was probably meant; empty: it is not known."""
    node = schema.at(path)
    kind = node.get("type") or ("string" if "x-kubernetes-int-or-string" in node else "")
    if isinstance(value, str):
        return _text_hint(value, kind, node)
    if kind == "string" and isinstance(value, bool | int | float):
        return f'write "{_short(document.written.get(path, str(value)))}" in quotes'
    if kind == "string" and value is None:
        return 'write "" for an empty text'
    if path[-1:] == ("command",) and isinstance(value, list):
        return f"write one line: {_quoted(shlex.join(map(str, value)))}"
    return _list_hint(value, kind)


def _list_hint(value: Any, kind: str) -> str:
    if kind == "array" and isinstance(value, dict):
        return 'begin each entry with "- "'
    return ""


def _text_hint(value: str, kind: str, node: SchemaNode) -> str:
    if kind == "integer" and re.fullmatch(r"[+-]?[0-9]{1,18}", value):
        return f"write {value} without quotes"
    if kind == "boolean" and value.lower() in {"true", "false", "yes", "no", "on", "off", "0", "1"}:
        return f"write {'true' if value.lower() in {'true', 'yes', 'on', '1'} else 'false'} without quotes"
    if kind == "array":
        return f"write [{_quoted(value)}]"
    near = nearest(value, tuple(node.get("enum", ())))
    return f'did you mean "{near}"?' if near else ""
