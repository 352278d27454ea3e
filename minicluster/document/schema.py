"""The structural OpenAPI schema of the CRD, made from the records.

Structural means: a type on every node, no references, no alternatives with null, no `additionalProperties:
false` (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/).
The API server prunes nulls and unknown fields itself.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from minicluster.document.cluster import MiniCluster
from minicluster.document.scalars import MAX_INT32

if TYPE_CHECKING:
    from minicluster.document.positions import Path

Schema = dict[str, Any]

# The keys that are copied, in the order of the output.
_KEPT = (
    "description",
    "type",
    "enum",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "maxProperties",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
)


def json_schema() -> Schema:
    """Return the JSON schema of the document (draft 2020-12), for editors and validators of YAML."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **MiniCluster.model_json_schema(by_alias=True)}


@cache
def document_schema() -> Schema:
    """Return the structural schema of the whole document. It is shared: do not change it."""
    generated = MiniCluster.model_json_schema(by_alias=True)
    return _structural(generated, generated["$defs"])


def _structural(node: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return one node of the structural schema, with everything below it."""
    node = _resolved(node, definitions)
    result: Schema = {key: node[key] for key in _KEPT if key in node}
    if "const" in node:
        result["enum"] = [node["const"]]
    if result.get("default", True) in (False, "", [], {}, None):
        # Empty defaults need not be in every stored object.
        del result["default"]
    if "items" in node:
        result["items"] = _structural(node["items"], definitions)
        result["x-kubernetes-list-type"] = "atomic"
    if "properties" in node:
        result["properties"] = {
            name: _structural(inner, definitions) for name, inner in node["properties"].items()
        }
        if "required" in node:
            result["required"] = sorted(node["required"])
    elif values := _values(node):
        result["additionalProperties"] = _structural(values, definitions)
    elif node.get("type") == "object":
        result["x-kubernetes-preserve-unknown-fields"] = True
    if node.get("type") == "integer":
        result["format"] = "int32" if node.get("maximum", MAX_INT32 + 1) <= MAX_INT32 else "int64"
    return result


def _values(node: Schema) -> Schema:
    """Return the schema of a map's values; a structural schema has no pattern for the keys."""
    for values in node.get("patternProperties", {}).values():
        return dict(values)
    values = node.get("additionalProperties")
    return values if isinstance(values, dict) else {}


def _resolved(node: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return a node with its reference resolved and without the alternative null; other keys stay."""
    beside = {key: value for key, value in node.items() if key not in {"$ref", "anyOf"}}
    if "$ref" in node:
        definition = definitions[node["$ref"].removeprefix("#/$defs/")]
        return {**_resolved(definition, definitions), **beside}
    if "anyOf" in node:
        (inner,) = (option for option in node["anyOf"] if option != {"type": "null"})
        return {**_resolved(inner, definitions), **beside}
    return node


def at(path: Path) -> Schema:
    """Return the schema at a path; empty where there is none."""
    node = document_schema()
    for step in path:
        if isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(step) or node.get("additionalProperties", {})
    return node


def fields(schema: Schema) -> tuple[str, ...]:
    """Return the names of the fields of a record."""
    return tuple(schema.get("properties", {}))


@cache
def homes() -> dict[str, str]:
    """Return for each field's name the first path of such a field, nearest to the top."""
    found: dict[str, str] = {}
    _collect(document_schema(), "", found)
    return found


def _collect(node: Schema, path: str, found: dict[str, str]) -> None:
    """Add the fields level by level: one near the top is more likely to be meant."""
    level = [(node, path)]
    while level:
        below: list[tuple[Schema, str]] = []
        for schema, field_path in level:
            for name, inner in schema.get("properties", {}).items():
                here = f"{field_path}.{name}" if field_path else name
                if not here.startswith(("status", "metadata")):
                    found.setdefault(name, here)
                below.append((inner, here))
            if "items" in schema:
                below.append((schema["items"], f"{field_path}[]"))
            if isinstance(schema.get("additionalProperties"), dict):
                below.append((schema["additionalProperties"], f"{field_path}.<name>"))
        level = below
