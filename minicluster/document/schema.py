"""The schema of the whole document, made from the records: structural for the CRD, and for editors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from minicluster.document.cluster import MiniCluster
from minicluster.document.structural import SchemaNode, structural

if TYPE_CHECKING:
    from minicluster.document.positions import Path


def json_schema() -> SchemaNode:
    """Return the JSON schema of the document (draft 2020-12), for editors and validators of YAML."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **MiniCluster.model_json_schema(by_alias=True)}


@cache
def document_schema() -> SchemaNode:
    """Return the structural schema of the whole document. It is shared: do not change it."""
    return structural(MiniCluster)


def at(path: Path) -> SchemaNode:
    """Return the schema at a path; empty where there is none."""
    node = document_schema()
    for step in path:
        if isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(step) or node.get("additionalProperties", {})
    return node


def fields(schema: SchemaNode) -> tuple[str, ...]:
    """Return the names of the fields of a record."""
    return tuple(schema.get("properties", {}))


@cache
def homes() -> dict[str, str]:
    """Return for each field's name the first path of such a field, nearest to the top."""
    found: dict[str, str] = {}
    _collect(document_schema(), "", found)
    return found


def _collect(node: SchemaNode, path: str, found: dict[str, str]) -> None:
    """Add the fields level by level: one near the top is more likely to be meant."""
    level = [(node, path)]
    while level:
        below: list[tuple[SchemaNode, str]] = []
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
