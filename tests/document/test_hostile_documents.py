"""What the attacking documents are like, and that none of them is too much for the reader of documents."""

from collections import Counter
from typing import Any

import jsonschema

from minicluster.document import DocumentError, validate
from tests.document import hostile_documents
from tests.document.hostile_documents import DOCUMENT, documents, named, paths
from tests.document.json_schema import closed

FIELDS = list(paths())


def test_every_field_is_attacked() -> None:
    assert {path for path, _ in documents(len(FIELDS))} == set(FIELDS)
    assert len(FIELDS) == len(set(FIELDS)) > 390
    assert {step for part, step, *_ in FIELDS if part == "metadata"} == {
        "annotations",
        "labels",
        "finalizers",
    }


def test_the_same_seed_gives_the_same_documents() -> None:
    assert list(documents(50, seed=7)) == list(documents(50, seed=7)) != list(documents(50, seed=8))


def test_what_is_plain_is_of_the_schemas_shape() -> None:
    jsonschema.Draft202012Validator(closed(DOCUMENT)).validate(hostile_documents.plain(DOCUMENT))


def outcome(document: dict[str, Any]) -> str:
    """Read a document; return what came of it."""
    try:
        validate(named(document, "m"))
    except DocumentError as error:
        return "refused" if all(problem.message for problem in error.problems) else "without words"
    return "valid"


def test_each_of_them_is_read_or_refused_in_words() -> None:
    """A good part of them would be admitted."""
    found = Counter(outcome(document) for _, document in documents(len(FIELDS)))
    assert found.keys() == {"refused", "valid"}
    assert found["valid"] > len(FIELDS) / 3
