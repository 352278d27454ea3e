"""Documents that attack every field, through the API server: none stops the operator, all get a status.

    pytest -n 0 -s tests/kubernetes/operator/test_hostile_documents.py --hostile-documents 2000

attacks every field several times, and prints what became of the documents.
"""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.devcluster import Api, ApiError, ControlPlane, until
from tests.document.hostile_documents import documents
from tests.kubernetes import operators
from tests.kubernetes.operators import Operator

pytestmark = pytest.mark.timeout(900)
SENDERS = 4
LATEST = 300.0
"""Seconds after the last document until each must have a status."""
MANAGED = ("", "ManagedByOthers")
OUTCOMES = {("True", "Accepted"), ("False", "Invalid"), ("False", "PlanningLimitExceeded"), MANAGED}
NO_PODS = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-pods"},
    "spec": {"hard": {"pods": "0"}},
}
"""The Job controller would make as many pods as a document asks for: up to 100,000."""


@pytest.fixture
def honest(api: Api, namespace: str) -> Iterator[str]:
    """Another namespace, of a user who means no harm."""
    name = f"{namespace}-honest"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def operator(own_plane: ControlPlane | None, tmp_path: Path) -> Iterator[Operator]:
    """An operator for all namespaces."""
    with operators.everywhere(own_plane, tmp_path) as found:
        yield found


def send(api: Api, namespace: str, number: int, spec: dict[str, Any]) -> str:
    """Send a document; return its name where it is admitted. Raises where it is no matter of the document."""
    body = {**operators.DOCUMENT, "metadata": {"name": f"hostile-{number}"}, "spec": spec}
    try:
        return str(api.create(operators.path(namespace), body)["metadata"]["name"])
    except ApiError as error:
        if error.status not in {400, 413, 422}:
            raise
        return ""


def served(api: Api, namespace: str, name: str) -> float:
    """Return after how many seconds an honest MiniCluster has all its objects."""
    begin = time.monotonic()
    operators.create(api, namespace, name)
    operators.created(api, namespace, name)
    return time.monotonic() - begin


def judged(api: Api, namespace: str, operator: Operator) -> dict[str, tuple[str, str]]:
    """Return each document's status and reason of the condition `Valid`, once all have one.

    Those that another controller manages get none.
    """
    found: dict[str, tuple[str, str]] = {}
    missing: dict[str, Any] = {}

    def poll() -> bool:
        missing.clear()
        for item in api.items(operators.path(namespace)):
            name, valid = item["metadata"]["name"], operators.conditions(item).get("Valid")
            if valid:
                found[name] = valid
            elif item["spec"].get("managedBy"):
                found[name] = MANAGED
            else:
                missing[name] = item
        return not missing

    try:
        until(poll, "each document to have a status", LATEST)
    except TimeoutError as error:
        lines = [line for line in operator.text().splitlines() if any(f"/{name}" in line for name in missing)]
        raise AssertionError(f"{error}: {list(missing.items())[:5]}\n{lines[-20:]}") from error
    return found


def test_none_stops_the_operator_and_all_get_a_status(
    api: Api, namespace: str, honest: str, operator: Operator, request: pytest.FixtureRequest
) -> None:
    """And honest MiniClusters of another namespace are served meanwhile."""
    count = request.config.getoption("--hostile-documents")
    api.create(f"/api/v1/namespaces/{namespace}/resourcequotas", NO_PODS)
    waits = []
    with ThreadPoolExecutor(SENDERS) as pool:
        sent = [
            pool.submit(send, api, namespace, number, spec)
            for number, (_, spec) in enumerate(documents(count))
        ]
        while not all(each.done() for each in sent):
            waits.append(served(api, honest, f"honest-{len(waits)}"))
    admitted = {name for each in sent if (name := each.result())}
    found = judged(api, namespace, operator)
    print(f"{count} sent, {len(admitted)} admitted: {dict(Counter(found.values()))}")
    print(f"{len(waits)} honest MiniClusters meanwhile, served within {max(waits):.1f} s")
    assert found.keys() == admitted
    assert len(admitted) >= count / 2
    assert set(found.values()) <= OUTCOMES
    assert (operator.process.poll(), operator.get("/healthz")[0]) == (None, 200)
