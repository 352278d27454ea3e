"""The CRD: structural, bounded, and of one mind with the validator."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from minicluster.document import DocumentError, MiniClusterSpec, crd, crd_yaml, load, messages, validate
from minicluster.document.cel import IMMUTABLE, RULES
from minicluster.document.cel_rule import CelRule
from tests.document.json_schema import closed

VERSION = crd()["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
FORBIDDEN = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "const", "definitions", "dependencies"}
FORBIDDEN |= {"patternProperties", "propertyNames", "title", "nullable", "uniqueItems", "deprecated", "id"}


def nodes(node: dict[str, Any], field_path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every node of a structural schema with its path."""
    yield field_path, node
    for name, inner in node.get("properties", {}).items():
        yield from nodes(inner, f"{field_path}.{name}")
    if "items" in node:
        yield from nodes(node["items"], f"{field_path}[]")
    if "additionalProperties" in node:
        yield from nodes(node["additionalProperties"], f"{field_path}.*")


NODES = dict(nodes(SCHEMA))


def faults(node: dict[str, Any]) -> Iterator[str]:
    """Yield what Kubernetes would refuse in a node of a structural schema."""
    free = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
    if not ("type" in node or free) or ("type" in node and node.get("x-kubernetes-int-or-string")):
        yield "a type, or int-or-string, or unknown content"
    yield from sorted(FORBIDDEN & set(node))
    if "properties" in node and "additionalProperties" in node:
        yield "properties beside additionalProperties"
    if isinstance(node.get("additionalProperties"), bool):
        yield "additionalProperties true or false"
    if node.get("type") == "array" and "items" not in node:
        yield "a list without items"
    if not set(node.get("required", ())) <= set(node.get("properties", ())):
        yield "required without property"
    if "default" in node:
        yield from (
            error.message for error in jsonschema.Draft202012Validator(node).iter_errors(node["default"])
        )


@pytest.mark.parametrize("field_path", NODES)
def test_a_node_is_structural(field_path: str) -> None:
    """So that Kubernetes prunes and fills in defaults."""
    assert list(faults(NODES[field_path])) == []


@pytest.mark.parametrize(
    ("node", "fault"),
    [
        ({}, "a type, or int-or-string, or unknown content"),
        ({"type": "string", "anyOf": []}, "anyOf"),
        ({"type": "object", "additionalProperties": False}, "additionalProperties true or false"),
        ({"type": "integer", "default": "x"}, "'x' is not of type 'integer'"),
        ({"type": "array"}, "a list without items"),
    ],
)
def test_the_checker_finds_faults(node: dict[str, Any], fault: str) -> None:
    """It would be worth nothing otherwise."""
    assert fault in list(faults(node))


BOUNDS = {"string": ("maxLength", "enum"), "array": ("maxItems",)}
# Filled in by the server, and not part of the schema's cost.
UNBOUNDED = {".apiVersion", ".kind"}


@pytest.mark.parametrize(
    "field_path", [path for path in NODES if NODES[path].get("type") in BOUNDS and path not in UNBOUNDED]
)
def test_texts_and_lists_are_bounded(field_path: str) -> None:
    """The cost of rules must be known beforehand."""
    node = NODES[field_path]
    assert any(bound in node for bound in BOUNDS[node["type"]])


@pytest.mark.parametrize("field_path", [path for path in NODES if "additionalProperties" in NODES[path]])
def test_maps_are_bounded(field_path: str) -> None:
    """As above."""
    assert NODES[field_path]["maxProperties"] >= 1


@pytest.mark.parametrize(
    "field_path", [path for path in NODES if path.startswith((".spec.", ".status.")) and path[-1] not in "]*"]
)
def test_every_field_is_described(field_path: str) -> None:
    """`kubectl explain` shows it."""
    assert NODES[field_path]["description"].endswith((".", "?", "."))


def test_the_crd_is_the_same_every_time() -> None:
    """It is kept in manifests."""
    assert crd_yaml() == crd_yaml()
    assert yaml.safe_load(crd_yaml()) == crd()


def test_a_changed_crd_changes_nothing_here() -> None:
    """Each caller has its own."""
    crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].clear()
    assert crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == SCHEMA


def test_names_and_subresources() -> None:
    """What kubectl and the autoscaler ask for."""
    names = crd()["spec"]["names"]
    assert (names["plural"], names["shortNames"], names["listKind"]) == (
        "miniclusters",
        ["mc"],
        "MiniClusterList",
    )
    assert VERSION["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.size",
            "statusReplicasPath": ".status.size",
            "labelSelectorPath": ".status.selector",
        },
    }


@pytest.mark.parametrize(
    "path",
    [column["jsonPath"] for column in VERSION["additionalPrinterColumns"]]
    + list(VERSION["subresources"]["scale"].values()),
)
def test_columns_and_scale_point_at_fields(path: str) -> None:
    """A wrong path would show nothing, silently."""
    field_path = re.sub(r"\[\?\(@\.type==\"\w+\"\)\]", "[]", path)
    assert field_path in NODES or path == ".metadata.creationTimestamp"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.field_path}: {rule.message[:40]}")
def test_a_rule_has_the_validators_words(rule: CelRule) -> None:
    """People read the same sentence from both; the frozen fields are the API server's alone."""
    known = {value for name, value in vars(messages).items() if name.isupper()}
    assert rule.message in known or rule.message.startswith(("spec.", messages.BAD_NAME))


FIELD = re.compile(r"(?:self|oldSelf)((?:\.[a-zA-Z_]+)+)(?![a-zA-Z_(])")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.field_path}: {rule.message[:40]}")
def test_a_rule_names_fields_that_exist(rule: CelRule) -> None:
    """A misspelt field would make the whole CRD be refused."""
    field_path = f".{rule.field_path}" if rule.field_path else ""
    for path in FIELD.findall(rule.rule):
        assert f"{field_path}{path}" in NODES


def test_what_cannot_change_is_listed_with_its_reason() -> None:
    """The others can: the lists together are all fields."""
    mutable = {"size", "min_size", "deadline_seconds", "backoff_limit"}
    mutable |= {"suspend", "cleanup", "autoscaling", "bursting"}
    known = {field.alias for name, field in MiniClusterSpec.model_fields.items() if name not in mutable}
    assert set(IMMUTABLE) == known
    assert all(IMMUTABLE.values())


VALIDATOR = jsonschema.Draft202012Validator(closed(SCHEMA))
HEAD = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": "m"}}


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parent / "fields").glob("*.yaml")), ids=lambda path: path.stem
)
def test_what_the_validator_accepts_the_schema_accepts(path: Path) -> None:
    """Every field of the example documents."""
    load(path)
    document = yaml.safe_load(path.read_text())
    document["metadata"] = {"name": document["metadata"]["name"]}
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []


HOSTS = {"flux": {"bursting": {"clusters": [{}]}}}
REFUSED = {
    "unknown": {"zzz": 1},
    "text": {"size": "5"},
    "fraction": {"size": 2.5},
    "negative": {"tasks": -1},
    "flag": {"suspend": "true"},
    "enum": {"pod": {"restartPolicy": "Always"}},
    "quantity": {"pod": {"resources": {"cpu": "4 GB"}}},
    "fractional quantity": {"pod": {"resources": {"cpu": 0.5}}},
    "duration": {"flux": {"connectTimeout": "5 s"}},
    "topology": {"flux": {"topology": "kary:0"}},
    "no container": {"containers": []},
    "too many": {"containers": [{}] * 33},
    "relative": {"archive": {"path": "a"}},
    "level": {"flux": {"logLevel": 8}},
    "port": {"network": {"port": 0}},
    "security": {"pod": {"securityContext": {"runAsUsr": 1}}},
    "a provider with its settings": {"bursting": {"providers": [{"name": "a"}]}, **HOSTS},
    "money as a number": {"bursting": {"budget": {"amount": 50}}, **HOSTS},
    "money to the 7th digit": {"bursting": {"budget": {"amount": "0.1234567"}}, **HOSTS},
    "a currency's sign": {"bursting": {"budget": {"amount": "1", "currency": "€"}}, **HOSTS},
    "a period that is no calendar's": {"bursting": {"budget": {"amount": "1", "period": "30d"}}, **HOSTS},
    "a range without its length": {"bursting": {"sourceRanges": ["10.0.0.0"]}, **HOSTS},
    "a range of no addresses": {"bursting": {"sourceRanges": ["300.0.0.0/8"]}, **HOSTS},
    "missing": {"pod": {"imagePullSecrets": [{}]}},
    "null in a map": {"jobLabels": {"a": None}},
}


@pytest.mark.parametrize("spec", REFUSED.values(), ids=REFUSED)
def test_what_the_schema_refuses_the_validator_refuses(spec: dict[str, Any]) -> None:
    """Unknown fields included, which the API server would drop and kubectl name."""
    document = json.loads(json.dumps({**HEAD, "spec": {"containers": [{}], **spec}}))
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(DocumentError):
        validate(document)
