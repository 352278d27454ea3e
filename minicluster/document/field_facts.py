"""What the schema says of one field, in words: type, what is allowed, default, and whether it may change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from minicluster.document.cel import IMMUTABLE

if TYPE_CHECKING:
    from minicluster.document.structural import SchemaNode

_PREFIX = "#/$defs/"
_TYPES = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "map"}
_UNITS = {"Seconds": "seconds", "bytes": "bytes"}


def record_of(field: SchemaNode) -> tuple[str, str]:
    """Return the record of a field's value, and the end of its field path; empty: it has none."""
    plain = without_null(field)
    if "$ref" in plain:
        return plain["$ref"].removeprefix(_PREFIX), ""
    for inner, suffix in ((plain.get("items"), "[]"), (values_of(plain), ".<name>")):
        if isinstance(inner, dict) and "$ref" in inner:
            return inner["$ref"].removeprefix(_PREFIX), suffix
    return "", ""


def without_null(field: SchemaNode) -> SchemaNode:
    """Return the schema of a field without the alternative null."""
    for option in field.get("anyOf", ()):
        if option != {"type": "null"}:
            return {**option, **{key: value for key, value in field.items() if key != "anyOf"}}
    return field


def values_of(field: SchemaNode) -> SchemaNode | None:
    """Return the schema of a map's values."""
    for values in field.get("patternProperties", {}).values():
        return dict(values)
    values = field.get("additionalProperties")
    return values if isinstance(values, dict) else None


def fixed(field_path: str) -> str:
    """Return why the field at a path cannot change; empty: it can."""
    spec, _, rest = field_path.partition(".")
    return IMMUTABLE.get(re.split(r"[.\[]", rest)[0], "") if spec == "spec" else ""


def type_name(name: str, field: SchemaNode) -> str:
    """Return the type of a field that has no record, as a word for users."""
    if "items" in field:
        return f"list of {type_name('', field['items'])}"
    if inner := values_of(field):
        return f"map of {type_name('', inner)}"
    if field.get("x-kubernetes-int-or-string"):
        return "quantity"
    unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
    return unit or _TYPES.get(field.get("type", ""), "any value")


def of_shape(field: SchemaNode, record: str) -> str:
    """Return the type of a field that has a record, which is written so: alone, in a list, or in a map."""
    return {"": record, "[]": f"list: {record}"}.get(record_of(field)[1], f"map: {record}")


def allowed(field: SchemaNode) -> str:
    """Return what a field allows: its shape, its values, or its bounds."""
    if values := field.get("enum") or ([field["const"]] if "const" in field else []):
        return ", ".join(f"`{value}`" for value in values if value != "")
    if "items" in field or "maxProperties" in field:
        return _allowed_entries(field)
    if words := field.get("x-allowed"):
        return "" if field.get("x-kubernetes-int-or-string") else str(words)
    if "minimum" in field:
        least, most = field["minimum"], field.get("maximum")
        return f"from {least}" if most is None else f"{least} to {most}"
    return f"at most {field['maxLength']} characters" if "maxLength" in field else ""


def _allowed_entries(field: SchemaNode) -> str:
    """Return how many entries a list or a map may have, and what each may be."""
    most = field.get("maxItems", field.get("maxProperties"))
    least = field.get("minItems", 0)
    each = allowed(field.get("items") or values_of(field) or {})
    count = f"{least} to {most} entries" if least else f"at most {most} entries" if most else ""
    return "; ".join(filter(None, [count, f"each: {each}" if each else ""]))


def default(value: object) -> str:
    """Return a default as YAML writes it, in backquotes; empty where it is absent or empty."""
    if value is None or value in ("", [], {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
