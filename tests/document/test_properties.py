"""For any document: schema and validator agree, and what is valid comes back the same."""

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from minicluster.document import DocumentError, Problem, dump, load, parse, quantity, validate
from minicluster.document.positions import written_path
from minicluster.document.scalars import QUANTITY
from minicluster.document.schema import document_schema
from minicluster.document.structural import SchemaNode
from tests.budgets import examples
from tests.document.json_schema import closed

pytestmark = pytest.mark.usefixtures("unmeasured")

SLOW = settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
SPEC = document_schema()["properties"]["spec"]
HEAD = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": "m"}}
KEYS = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
# Their contents have parsers of their own; see the tests of those.
PARSED = ("hostlist", "curveCert", "brokerConfig", "queuePolicy")


def contents(node: SchemaNode) -> st.SearchStrategy[Any]:
    """Return a strategy for what a node of the schema accepts."""
    if "enum" in node:
        return st.sampled_from(node["enum"])
    if node.get("x-kubernetes-int-or-string"):
        return st.integers(0, 10**6) | texts(node)
    return BY_TYPE.get(node.get("type", ""), anything)(node)


def integers(node: SchemaNode) -> st.SearchStrategy[int]:
    """Return a strategy for whole numbers within the bounds, not too far up."""
    return st.integers(node.get("minimum", 0), min(node.get("maximum", 10_000), 10_000))


def booleans(node: SchemaNode) -> st.SearchStrategy[bool]:
    """Return a strategy for flags."""
    return st.booleans()


def texts(node: SchemaNode) -> st.SearchStrategy[str]:
    """Return a strategy for texts, of the node's shape if it has one."""
    longest = node.get("maxLength", 64)
    if "pattern" in node:
        shaped = st.from_regex(re.compile(node["pattern"], re.ASCII), fullmatch=True)
        return shaped.map(lambda text: text.rstrip("\n")).filter(lambda text: 0 < len(text) <= longest)
    letters = st.characters(exclude_categories=["Cs", "Cc"])
    return st.text(letters, min_size=node.get("minLength", 0), max_size=8)


def lists(node: SchemaNode) -> st.SearchStrategy[list[Any]]:
    """Return a strategy for short lists."""
    items = st.deferred(lambda: contents(node["items"]))
    return st.lists(items, min_size=node.get("minItems", 0), max_size=2)


def objects(node: SchemaNode) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for small maps, or for records."""
    if "properties" in node:
        return records(node)
    return st.dictionaries(KEYS, st.deferred(lambda: contents(node["additionalProperties"])), max_size=2)


def anything(node: SchemaNode) -> st.SearchStrategy[Any]:
    """Return a strategy for the settings of a policy."""
    return st.booleans() | st.integers(-(2**62), 2**62) | st.text(PLAIN, max_size=5)


def records(node: SchemaNode) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for a few fields of a record."""
    known = {name: inner for name, inner in node["properties"].items() if name not in PARSED}
    needed = {
        name: st.deferred(lambda inner=known[name]: contents(inner)) for name in node.get("required", ())
    }

    def chosen(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({**needed, **{name: contents(known[name]) for name in names}})

    return st.lists(st.sampled_from(sorted(known)), max_size=4, unique=True).flatmap(chosen)


PLAIN = st.characters(exclude_categories=["Cs", "Cc"])
BY_TYPE = {"integer": integers, "boolean": booleans, "string": texts, "array": lists, "object": objects}
SPECS = records(SPEC)


def problems(document: dict[str, Any]) -> list[str]:
    """Return what the validator says."""
    try:
        validate(document)
    except DocumentError as error:
        return [problem.message for problem in error.problems]
    return []


TYPE_WORDS = ("found ", "unknown field", "missing", "the name is not allowed")


@SLOW
@given(SPECS)
def test_what_the_schema_accepts_breaks_rules_at_most(spec: dict[str, Any]) -> None:
    """No type and no shape is refused by the records alone."""
    reported = problems({**HEAD, "spec": spec})
    assert [message for message in reported if message.startswith(TYPE_WORDS)] == []


@SLOW
@given(SPECS)
def test_a_valid_document_comes_back_the_same(spec: dict[str, Any]) -> None:
    """Through a text."""
    document = {**HEAD, "spec": spec}
    assume(not problems(document))
    cluster = validate(document)
    assert load(json.dumps(dump(cluster), indent=1)) == [cluster]


def _replaced(content: Any, path: list[int], value: Any) -> Any:
    """Return the content with some part of it replaced."""
    if not path or not isinstance(content, dict | list) or not content:
        return value
    if isinstance(content, list):
        index = path[0] % len(content)
        return [_replaced(item, path[1:], value) if at == index else item for at, item in enumerate(content)]
    name = sorted(content)[path[0] % len(content)]
    return {key: _replaced(item, path[1:], value) if key == name else item for key, item in content.items()}


VALIDATOR = jsonschema.Draft202012Validator(closed(SPEC))
ANYTHING = st.sampled_from(["", "5", "x y", -1, 1.5, True, [], [[]], {}, {"zzz": 1}, "A_", 10**12])


@SLOW
@given(SPECS, st.lists(st.integers(0, 9), max_size=5), ANYTHING)
def test_schema_and_validator_refuse_the_same_mistakes(
    spec: dict[str, Any], path: list[int], value: Any
) -> None:
    """A part replaced by something else; rules between fields apart."""
    broken = json.loads(json.dumps(_replaced(spec, path, value)))
    reported = problems({**HEAD, "spec": broken})
    refused = any(message.startswith(TYPE_WORDS) for message in reported)
    assert refused == (not VALIDATOR.is_valid(broken)) or not isinstance(broken, dict)


def explanations(text: str) -> tuple[Problem, ...]:
    """Return what is said about a text, whatever it is."""
    try:
        parse(text)
    except DocumentError as error:
        return error.problems
    return ()


@SLOW
@given(st.text())
def test_any_text_is_read_or_explained(text: str) -> None:
    """Nothing else is ever raised."""
    assert explanations(text)


BITS = (
    *("apiVersion: flux-framework.org/v1alpha2\n", "kind: MiniCluster\n", "metadata: {name: m}\n", "spec:\n"),
    *(
        "  containers:\n",
        "  - {}\n",
        "  size: ",
        "  flux: {curveCert: ",
        "&a ",
        "*a",
        "<<: ",
        "- ",
        "? ",
        "\n",
    ),
    *(
        "---\n",
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "|\n",
        "!!int ",
        "!!binary ",
        "1e400\n",
        "0b\n",
        "0x_\n",
        ".nan\n",
    ),
    *("\t", "\0", "\ud800"),
)


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from(BITS), max_size=14).map("".join))
def test_anything_like_a_document_is_read_or_explained(text: str) -> None:
    """Pieces of YAML in any order; each explanation has its line."""
    assert all(problem.message and problem.line >= 1 for problem in explanations(text))


@given(st.from_regex(re.compile(QUANTITY, re.ASCII), fullmatch=True))
def test_every_quantity_has_a_number(text: str) -> None:
    """What the shape allows, the parser reads."""
    assert quantity(text.rstrip("\n")) is not None


@given(st.lists(st.integers(0, 99) | st.text(max_size=5)))
def test_every_path_can_be_written(path: list[int | str]) -> None:
    """On one line, whatever its names."""
    assert "\n" not in written_path(tuple(path))
