"""Label selectors mean what they mean to Kubernetes."""

import pytest

from metrics_api.answers.errors import BadRequestError
from metrics_api.answers.selectors import parse

MATCHES = [
    ("", {}, True),
    ("  ", {"a": "b"}, True),
    ("a=b", {"a": "b"}, True),
    ("a==b", {"a": "b"}, True),
    ("a = b", {"a": "c"}, False),
    ("a=b", {}, False),
    ("a=", {"a": ""}, True),
    ("a=", {}, False),
    ("a!=b", {"a": "c"}, True),
    ("a!=b", {}, True),
    ("a!=b", {"a": "b"}, False),
    ("a in (b,c)", {"a": "c"}, True),
    ("a in ( b , c )", {"a": "d"}, False),
    ("a notin (b,c)", {}, True),
    ("a notin (b,c)", {"a": "b"}, False),
    ("a", {"a": ""}, True),
    ("a", {}, False),
    ("!a", {}, True),
    ("! a", {"a": "b"}, False),
    ("in=in", {"in": "in"}, True),
    ("example.org/a.b-c_d=E.f", {"example.org/a.b-c_d": "E.f"}, True),
    ("a=b,c in (d,e),!f", {"a": "b", "c": "e"}, True),
    ("a=b,c in (d,e),!f", {"a": "b", "c": "e", "f": "g"}, False),
    ("a=b,a=c", {"a": "b"}, False),
]
WRONG = [
    "a b",
    "a in b",
    "a in (b",
    "a=b=c",
    "=b",
    ",",
    "a=b,",
    "a>1",
    "-a=b",
    "a=-b",
    "a/b/c=d",
    "A.org/a=b",
    "!a=b",
    "a=ü",
    "a in (b,-)",
    f"a={'b' * 64}",
    "a," * 10_000,
]


@pytest.mark.parametrize(("text", "labels", "matches"), MATCHES)
def test_matching(text: str, labels: dict[str, str], matches: bool) -> None:
    assert parse(text).matches(labels) is matches


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:20])
def test_what_is_no_selector_is_refused_in_words(text: str) -> None:
    with pytest.raises(BadRequestError, match=r"^labelSelector: .*(requirement|value) of a label|more than"):
        parse(text)


def test_as_a_document() -> None:
    assert parse("").document() is None
    assert parse("a=b,a=c,d,e notin (f,g)").document() == {
        "matchLabels": {"a": "b"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["c"]},
            {"key": "d", "operator": "Exists"},
            {"key": "e", "operator": "NotIn", "values": ["f", "g"]},
        ],
    }
