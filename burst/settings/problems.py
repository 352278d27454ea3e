"""What is wrong with a settings file, as problems with path and line, in the words of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minicluster.document.errors import Problem
from minicluster.document.positions import written_path
from minicluster.document.problems import described, nearest, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

    from minicluster.document.positions import Located, Path

SchemaNode = dict[str, Any]
_ALLOWED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a mapping",
    "string_type": "a text",
    "tuple_type": "a list",
}
"""What pydantic's errors of these types allow."""


def located(path: Path, message: str, document: Located, source: str) -> Problem:
    """Return a problem with the position of its path."""
    position = document.position(path)
    return Problem(written_path(path), message, position.line, position.column, source=source)


def explained(
    error: ValidationError,
    record: type[BaseModel],
    document: Located,
    source: str,
    *,
    above: Path = (),
    is_private: bool = False,
) -> list[Problem]:
    """Return the problems of a part of a file that stands at a path. Of private parts no value is quoted."""
    schema = record.model_json_schema(by_alias=True)
    problems = []
    for each in error.errors(include_url=False):
        if each["type"] == "too_short" and len(each["input"]) >= each["ctx"]["min_length"]:
            continue  # pydantic does not count entries that are wrong; these have their own errors
        path = path_of(each)
        message = _message(each, path, schema, is_private)
        problems.append(located((*above, *path), message, document, source))
    return problems


def _message(error: ErrorDetails, path: Path, schema: SchemaNode, is_private: bool) -> str:
    if error["type"] == "extra_forbidden":
        known = tuple(_fields(_node(schema, path[:-1]), schema))
        near = nearest(str(path[-1]), known)
        hint = f'did you mean "{near}"?' if near else f"known here: {', '.join(known) or 'none'}"
        return f"unknown field; {hint}"
    if error["type"] == "missing":
        about = _node(schema, path).get("description", "")
        return f"missing; it is needed: {about}" if about else "missing; it is needed"
    found = _found(error["input"]) if is_private else described(error["input"])
    context = error.get("ctx", {})
    if error["type"] == "too_short":
        return f"found {found}, allowed is a list of at least {context['min_length']}"
    if allowed := context.get("allowed") or context.get("expected") or _ALLOWED.get(error["type"]):
        return f"found {found}, allowed is {allowed}"
    return f"found {found}; {error['msg'][:1].lower()}{error['msg'][1:]}"


def _found(value: Any) -> str:
    """Return what kind of a value it is: it may be a secret."""
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    return "a number" if isinstance(value, int | float) and not isinstance(value, bool) else described(value)


def _node(schema: SchemaNode, path: Path) -> SchemaNode:
    """Return the schema at a path; empty where there is none."""
    node = schema
    for step in path:
        node = next(_below(_resolved(node, schema), step, schema), {})
    return _resolved(node, schema)


def _below(node: SchemaNode, step: str | int, schema: SchemaNode) -> Iterator[SchemaNode]:
    for each in _options(node, schema):
        found = each.get("items") if isinstance(step, int) else each.get("properties", {}).get(step)
        found = found or each.get("additionalProperties")
        if isinstance(found, dict):
            yield found


def _fields(node: SchemaNode, schema: SchemaNode) -> Iterator[str]:
    for each in _options(node, schema):
        yield from each.get("properties", ())


def _options(node: SchemaNode, schema: SchemaNode) -> Iterator[SchemaNode]:
    """Yield the node and its alternatives: what may be absent is one of two."""
    yield node
    for option in node.get("anyOf", ()):
        yield _resolved(option, schema)


def _resolved(node: SchemaNode, schema: SchemaNode) -> SchemaNode:
    """Return a node with its reference resolved; what stands beside the reference stays."""
    if "$ref" not in node:
        return node
    name = node["$ref"].rpartition("/")[2]
    return {**schema.get("$defs", {}).get(name, {}), **{key: node[key] for key in node if key != "$ref"}}
