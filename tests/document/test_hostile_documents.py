"""What the attacking documents are like, and that none of them is too much for the reader of documents."""

from collections import Counter
from typing import Any

import jsonschema

from minicluster.document import DocumentError, validate
from tests.document import hostile_documents
from tests.document.hostile_documents import SPEC, documents, paths
from tests.document.json_schema import closed

HEAD = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": "m"}}
FIELDS = list(paths())


def test_every_field_is_attacked() -> None:
    assert {path for path, _ in documents(len(FIELDS))} == set(FIELDS)
    assert len(FIELDS) == len(set(FIELDS)) > 390


def test_the_same_seed_gives_the_same_documents() -> None:
    assert list(documents(50, seed=7)) == list(documents(50, seed=7)) != list(documents(50, seed=8))


def test_what_is_plain_is_of_the_schemas_shape() -> None:
    jsonschema.Draft202012Validator(closed(SPEC)).validate(hostile_documents.plain(SPEC))


def outcome(spec: dict[str, Any]) -> str:
    """Read a spec; return what came of it."""
    try:
        validate({**HEAD, "spec": spec})
    except DocumentError as error:
        return "refused" if all(problem.message for problem in error.problems) else "without words"
    return "valid"


def test_each_of_them_is_read_or_refused_in_words() -> None:
    """A good part of them would be admitted."""
    found = Counter(outcome(spec) for _, spec in documents(len(FIELDS)))
    assert found.keys() == {"refused", "valid"}
    assert found["valid"] > len(FIELDS) / 3
