"""The structural OpenAPI schema of a record.

Structural means: a type on every node, no references, no alternatives with null, no `additionalProperties:
false` (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/).
The API server prunes nulls and unknown fields itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minicluster.document.scalars import MAX_INT32

if TYPE_CHECKING:
    from minicluster.document.record import Record

SchemaNode = dict[str, Any]

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


def structural(record: type[Record]) -> SchemaNode:
    """Return the structural schema of a record."""
    generated = record.model_json_schema(by_alias=True)
    return _structural(generated, generated.get("$defs", {}))


def _structural(node: SchemaNode, definitions: dict[str, SchemaNode]) -> SchemaNode:
    """Return one node of the structural schema, with everything below it."""
    node = _resolved(node, definitions)
    result: SchemaNode = {key: node[key] for key in _KEPT if key in node}
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


def _values(node: SchemaNode) -> SchemaNode:
    """Return the schema of a map's values; a structural schema has no pattern for the keys."""
    for values in node.get("patternProperties", {}).values():
        return dict(values)
    values = node.get("additionalProperties")
    return values if isinstance(values, dict) else {}


def _resolved(node: SchemaNode, definitions: dict[str, SchemaNode]) -> SchemaNode:
    """Return a node with its reference resolved and without the alternative null; other keys stay."""
    beside = {key: value for key, value in node.items() if key not in {"$ref", "anyOf"}}
    if "$ref" in node:
        definition = definitions[node["$ref"].removeprefix("#/$defs/")]
        return {**_resolved(definition, definitions), **beside}
    if "anyOf" in node:
        (inner,) = (option for option in node["anyOf"] if option != {"type": "null"})
        return {**_resolved(inner, definitions), **beside}
    return node
