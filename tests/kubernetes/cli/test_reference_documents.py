"""The reference operator's own examples, as the API server judges them by our CRD, and as we do.

They are no part of this repository: `--reference-examples PATH` names their folder. Which are refused, and
why that is right, is listed in tests/document/test_reference_examples.py.
"""

import json
import re
from pathlib import Path

import pytest

from minicluster.document import DocumentError, parse, validate
from tests.devcluster import Api
from tests.kubernetes.operators import path

KIND = re.compile(r"^kind: MiniCluster$", re.MULTILINE)
NAMESPACE = re.compile(r"^  namespace: .*\n", re.MULTILINE)
YAML = {"Accept": "application/json", "Content-Type": "application/yaml", "User-Agent": "minicluster-tests"}


@pytest.fixture(scope="module")
def documents(request: pytest.FixtureRequest) -> dict[str, str]:
    """The texts by the names of their files, without the namespaces that they name."""
    folder = request.config.getoption("--reference-examples")
    if not folder:
        pytest.skip("the reference's examples are not given (--reference-examples PATH)")
    texts = {str(file.relative_to(folder)): file.read_text() for file in sorted(Path(folder).rglob("*.y*ml"))}
    return {name: NAMESPACE.sub("", text) for name, text in texts.items() if KIND.search(text)}


def judged(api: Api, namespace: str, text: str, validation: str) -> tuple[int, str]:
    """Have the API server look at a text, as it is written; return its status, and what it says."""
    resource_path = f"{path(namespace)}?dryRun=All&fieldValidation={validation}"
    status, answer = api.exchange("POST", resource_path, text.encode(), YAML)
    return status, answer.decode()


def our_refusal(text: str) -> str:
    """Return why we refuse a text, empty if we do not."""
    try:
        parse(text)
    except DocumentError as error:
        return str(error)
    return ""


def test_strictly_the_api_server_refuses_exactly_what_we_refuse(
    documents: dict[str, str], api: Api, namespace: str
) -> None:
    """With kubectl's own setting: no unknown field, no key that is given twice."""
    theirs = {name: judged(api, namespace, text, "Strict") for name, text in documents.items()}
    refused = {name: message for name, (status, message) in theirs.items() if status != 201}
    assert {status for status, _ in theirs.values()} <= {201, 400, 422}
    ours = {name: message for name, text in documents.items() if (message := our_refusal(text))}
    assert refused.keys() == ours.keys(), (refused, ours)
    assert len(documents) > len(refused) > 0


def test_what_it_takes_without_strictness_is_valid_to_us(
    documents: dict[str, str], api: Api, namespace: str
) -> None:
    """It drops fields that nobody knows, and takes all; what is left we take as well."""
    lax = {name: judged(api, namespace, text, "Ignore") for name, text in documents.items()}
    assert {name: message for name, (status, message) in lax.items() if status != 201} == {}
    assert all(validate(json.loads(message)).metadata.name for _, message in lax.values())
