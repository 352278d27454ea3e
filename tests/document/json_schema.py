"""The structural schema of the CRD as plain JSON Schema."""

from minicluster.document.structural import SchemaNode


def closed(node: SchemaNode) -> SchemaNode:
    """Return the schema as JSON Schema: no unknown fields, and int-or-string and scalars spelt out."""
    result = {key: value for key, value in node.items() if not key.startswith("x-kubernetes")}
    if node.get("x-kubernetes-int-or-string"):
        result["type"] = ["integer", "string"]
    elif node.get("x-kubernetes-preserve-unknown-fields"):
        result["type"] = ["string", "number", "boolean"]
    if "properties" in node:
        result["properties"] = {name: closed(inner) for name, inner in node["properties"].items()}
        result["additionalProperties"] = False
    elif "additionalProperties" in node:
        result["additionalProperties"] = closed(node["additionalProperties"])
    if "items" in node:
        result["items"] = closed(node["items"])
    return result
