"""From what an API server says about a field to the line of the document; no server is needed."""

from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies

from minicluster.document import Problem
from minicluster.kube_client.errors import ApiError, Cause
from minicluster.remote import documents
from minicluster.remote.submission import news

TEXT = """\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: mc}
spec:
  size: 2
  jobLabels:
    kueue.x-k8s.io/queue-name: here
  containers:
    - image: x
      environment:
        A-B: "1"
    - image: y
      command: z
"""


def wanted(text: str = TEXT) -> documents.Wanted:
    (found,), _ = documents.read(text, "f")
    return found


LINES = [
    ("spec.size", 5),
    (".spec.size", 5),
    ("spec", 4),
    ("spec.containers[1].command", 13),
    ("spec.containers[0].environment[A-B]", 11),
    ("spec.containers[0].environment.A-B", 11),
    (".spec.jobLabels.kueue.x-k8s.io/queue-name", 7),
    ("spec.containers[0].nothing", 9),
    ("spec.containers[7]", 8),
    ("metadata.name", 3),
    ("", 1),
]


@pytest.mark.parametrize(("field", "line"), LINES, ids=[field or "the-whole" for field, _ in LINES])
def test_a_field_is_found_or_else_its_parent(field: str, line: int) -> None:
    assert wanted().problem(field, "so").line == line


KEYS = strategies.text("abcXYZ-_/", min_size=1, max_size=5)
VALUES = strategies.recursive(
    strategies.integers(0, 9),
    lambda inner: (
        strategies.lists(inner, min_size=1, max_size=3)
        | strategies.dictionaries(KEYS, inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


def fields(value: Any, field: str) -> list[str]:
    """Return every field below a value, as the API server writes them."""
    if isinstance(value, dict):
        steps = [(f"{field}.{key}", inner) for key, inner in value.items()]
    elif isinstance(value, list):
        steps = [(f"{field}[{index}]", inner) for index, inner in enumerate(value)]
    else:
        return [field]
    return [field, *(found for step, inner in steps for found in fields(inner, step))]


@hypothesis.given(VALUES)
def test_every_field_of_every_document_is_found(value: object) -> None:
    """Each has a place of its own: what is found is not its parent."""
    text = yaml.safe_dump({"kind": "MiniCluster", "metadata": {"name": "mc"}, "spec": value})
    document = wanted(text)
    known = document.located.positions
    found = fields(value, "spec")
    positions = [(each.line, each.column) for each in (document.problem(field, "") for field in found)]
    spec = [position for path, position in known.items() if path[:1] == ("spec",)]
    assert sorted(positions) == sorted((position.line, position.column) for position in spec)


def refusal(*causes: Cause) -> ApiError:
    return ApiError(422, "Invalid", "words", causes=causes)


REFUSALS = [
    pytest.param(
        refusal(Cause("spec.size", "Invalid value: too many")), [("spec.size", "too many", 5)], id="a-field"
    ),
    pytest.param(
        refusal(Cause("<nil>", "Invalid value: spec.containers cannot change")),
        [("spec.containers", "spec.containers cannot change", 8)],
        id="a-rule-of-the-whole",
    ),
    pytest.param(
        ApiError(
            500,
            "",
            "failed to create typed patch object (ns/mc; v1, Kind=MiniCluster): errors:\n"
            "  .spec.size: expected numeric (int or float), got string\n"
            "  .spec.taks: field not declared in schema",
        ),
        [
            ("spec.size", "expected numeric (int or float), got string", 5),
            ("spec.taks", "field not declared in schema", 4),
        ],
        id="types",
    ),
    pytest.param(ApiError(500, "", "the database is gone"), [], id="not-about-the-document"),
]


@pytest.mark.parametrize(("error", "expected"), REFUSALS)
def test_a_refusal_is_taken_apart(error: ApiError, expected: list[tuple[str, str, int]]) -> None:
    found = documents.problems(wanted(), error)
    assert [(each.path, each.message, each.line) for each in found] == expected


KNOWN = [Problem("spec.size", "size must not be greater than maxSize: found 9, maxSize is 4", 5)]


@pytest.mark.parametrize(
    ("problem", "is_news"),
    [
        (Problem("spec.size", "expected numeric"), False),
        (Problem("spec", "size must not be greater than maxSize"), False),
        (Problem("spec.tasks", "cannot change"), True),
    ],
    ids=["same-field", "same-words", "another"],
)
def test_what_is_known_is_not_reported_again(problem: Problem, is_news: bool) -> None:
    assert bool(news([problem], KNOWN)) == is_news


def test_what_the_server_keeps_is_not_applied() -> None:
    """A document printed by `kubectl get -o yaml` can be given back."""
    printed = TEXT.replace(
        "metadata: {name: mc}", 'metadata: {name: mc, uid: u, resourceVersion: "7", managedFields: []}'
    )
    item = wanted(printed + "status: {phase: Running}\n").item
    assert (item["metadata"], "status" in item) == ({"name": "mc"}, False)
