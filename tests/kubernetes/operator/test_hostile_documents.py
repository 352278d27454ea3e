"""Documents that attack every field, through the API server: none stops the operator, all get a status.

    pytest -n 0 -s tests/kubernetes/operator/test_hostile_documents.py --hostile-documents 2000

attacks every field several times, and prints what became of the documents. With --kube-context they meet the
operator that is installed in that cluster, in its pods with their limits (`make cluster NODES=2 INSTALL=1`).
"""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.devcluster import Api, ApiError, ControlPlane, release, until
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


def containers(**fields: Any) -> dict[str, Any]:
    """Return a spec with a container that has these fields."""
    return {"containers": [{"image": "example.org/app:1", "command": "hostname", **fields}]}


@pytest.fixture
def honest(api: Api, namespace: str) -> Iterator[str]:
    """Another namespace, of a user who means no harm."""
    name = f"{namespace}-honest"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    api.delete(f"/api/v1/namespaces/{name}")


class InstalledOperator:
    """The pods of the operator that is installed in a cluster."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._began = self._restarts()
        assert self._began, f"no operator is installed in namespace {release.NAMESPACE}"

    def is_well(self) -> bool:
        """Look whether the same containers run as when this began."""
        return self._restarts() == self._began

    def text(self) -> str:
        """Return what its pods have logged."""
        paths = (f"{release.PODS}/{name}/log" for name, _ in self._began)
        return "".join(self._api.send("GET", path)[1].decode() for path in paths)

    def _restarts(self) -> set[tuple[str, int]]:
        return {
            (pod["metadata"]["name"], state["restartCount"])
            for pod in self._api.items(release.PODS)
            for state in pod["status"].get("containerStatuses", ())
        }


class OwnOperator:
    """A process of the operator."""

    def __init__(self, process: Operator) -> None:
        self._process = process
        self.text = process.text

    def is_well(self) -> bool:
        """Look whether it runs and answers."""
        return self._process.process.poll() is None and self._process.get("/healthz")[0] == 200


@pytest.fixture
def operator(
    own_plane: ControlPlane | None, api: Api, tmp_path: Path
) -> Iterator[OwnOperator | InstalledOperator]:
    """Two operators for all namespaces, of which this leads; with --kube-context the installed ones."""
    if own_plane is None:
        yield InstalledOperator(api)
        return
    account = operators.account(own_plane)
    with operators.running(account, tmp_path / "log", *operators.LED) as leader:
        with operators.running(account, tmp_path / "other", *operators.LED):
            yield OwnOperator(leader)
        assert "defect" not in leader.text()


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


def judged(api: Api, namespace: str, operator: OwnOperator | InstalledOperator) -> dict[str, tuple[str, str]]:
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
    api: Api,
    namespace: str,
    honest: str,
    operator: OwnOperator | InstalledOperator,
    request: pytest.FixtureRequest,
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
    assert operator.is_well()


HEAVY: dict[str, dict[str, Any]] = {
    "hostlist": {"flux": {"bursting": {"hostlist": "m-0,b[0-1000000]"}}},
    "gpus": containers(resources={"limits": {"nvidia.com/gpu": "1G"}}),
    "toml-dots": {"flux": {"brokerConfig": f"{'a.' * 100_000}a=1"}},
    "toml-hosts": {
        "flux": {"brokerConfig": '[bootstrap]\nhosts=[{host="a[0-1048574]"},{host="b[0-1048574]"}]'}
    },
    "toml-names": {
        "flux": {
            "brokerConfig": f'[bootstrap]\nhosts=[{{host="{",".join(f"{n}h" for n in range(35_000))}"}}]'
        }
    },
    "batch": containers(command="`\n" * 131_000, batch=True),
    "command": containers(command='"$("a")" ' * 26_000),
}
"""What stopped operators of 0.1.0, and the dearest that are admitted; some are invalid."""


def test_the_heaviest_documents_cost_no_leadership_and_hold_nobody_up(
    api: Api, namespace: str, honest: str, operator: OwnOperator | InstalledOperator
) -> None:
    """Of two operators: the Lease stays with the one that had it."""
    served(api, honest, "first")  # so one of them leads
    before = {key: api.get(operators.LEASE)["spec"][key] for key in ("holderIdentity", "leaseTransitions")}
    api.create(f"/api/v1/namespaces/{namespace}/resourcequotas", NO_PODS)
    for name, spec in HEAVY.items():
        for number in range(3):
            operators.create(api, namespace, f"{name}-{number}", **spec)
    waits = [served(api, honest, f"honest-{number}") for number in range(5)]
    found = judged(api, namespace, operator)
    print(f"{found}\nhonest ones served within {max(waits):.1f} s")
    assert len(found) == 3 * len(HEAVY)
    assert set(found.values()) <= OUTCOMES
    assert before == {key: api.get(operators.LEASE)["spec"][key] for key in before}
    assert operator.is_well()
