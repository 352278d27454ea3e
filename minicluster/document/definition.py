"""The CustomResourceDefinition, made from the records: schema, rules, columns, subresources."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import yaml

from minicluster.document.cel import RULES
from minicluster.document.names import GROUP, KIND, PLURAL, VERSION
from minicluster.document.schema import document_schema

if TYPE_CHECKING:
    from minicluster.document.structural import SchemaNode

# The columns of `kubectl get miniclusters`; those of priority 1 only with -o wide.
COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Ready", "type": "integer", "jsonPath": ".status.readyBrokers"},
    {"name": "Exit", "type": "integer", "jsonPath": ".status.exitCode"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    {"name": "Max", "type": "integer", "jsonPath": ".status.maximumSize", "priority": 1},
    {"name": "Policy", "type": "string", "jsonPath": ".status.queuePolicy", "priority": 1},
    {
        "name": "Burst",
        "type": "string",
        "jsonPath": '.status.conditions[?(@.type=="Bursting")].reason',
        "priority": 1,
    },
    {"name": "Suspended", "type": "boolean", "jsonPath": ".spec.suspend", "priority": 1},
)


def crd() -> dict[str, Any]:
    """Return the CustomResourceDefinition (apiextensions.k8s.io/v1), the same at every call."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["mc"],
                "categories": ["all"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _validated_schema()},
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.size",
                            "statusReplicasPath": ".status.size",
                            "labelSelectorPath": ".status.selector",
                        },
                    },
                    "additionalPrinterColumns": copy.deepcopy(list(COLUMNS)),
                }
            ],
        },
    }


def crd_yaml() -> str:
    """Return the CustomResourceDefinition as YAML, ready for `kubectl apply --server-side -f -`."""
    return yaml.dump(crd(), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


class _Dumper(yaml.SafeDumper):
    """Writes no anchors and aliases: the API server reads them, but users do not like to."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True


def _validated_schema() -> SchemaNode:
    schema = copy.deepcopy(document_schema())
    # The API server validates metadata itself; there a schema may have the name's bounds only.
    name = schema["properties"]["metadata"]["properties"]["name"]
    name.pop("description")
    schema["properties"]["metadata"] = {"type": "object", "properties": {"name": name}}
    for word in ("apiVersion", "kind"):
        schema["properties"][word].pop("default")
        schema["properties"][word].pop("enum")
    schema["required"] = ["spec"]
    for rule in RULES:
        node = _node(schema, rule.field_path)
        written: SchemaNode = {"rule": rule.rule, "message": rule.message}
        if rule.optional_old:
            written["optionalOldSelf"] = True
        node.setdefault("x-kubernetes-validations", []).append(written)
    return schema


def _node(schema: SchemaNode, field_path: str) -> SchemaNode:
    """Return the schema's node at a field path such as `spec.containers[].volumes.*`."""
    node = schema
    for step in field_path.replace("[]", ".[]").split(".") if field_path else ():
        if step == "[]":
            node = node["items"]
        elif step == "*":
            node = node["additionalProperties"]
        else:
            node = node["properties"][step]
    return node
