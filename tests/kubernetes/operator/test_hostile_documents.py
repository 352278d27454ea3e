"""Documents that attack every field, through the API server: none stops the operator, all get a status.

    pytest -n 0 -s tests/kubernetes/operator/test_hostile_documents.py --hostile-documents 420

attacks every field once, and prints what became of the documents. Without the option it is a hundred fields,
others in each run. With --kube-context the documents meet the operator that is installed in that cluster, in
its pods with their limits: `make hostile` starts such a cluster, and sends 2,000.
"""

import contextlib
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.devcluster import Api, ApiError, ControlPlane, release, until
from tests.document.hostile_documents import documents, named
from tests.kubernetes import operators
from tests.kubernetes.honest_user import HonestUser, thread_times
from tests.kubernetes.operators import Operator

pytestmark = pytest.mark.timeout(1800)
SENDERS = 4
LATEST = 300.0
"""Seconds after the last document until each must have a status."""
MAX_WAIT = 2.0
"""Seconds from an honest MiniCluster's creation to its status, besides what a busy machine explains."""
MAX_BLOCK = 0.2
"""Seconds of CPU time: the dearest of HEAVY takes 0.8 s, a light document 0.03 s at most (decision 0038)."""
MANAGED = ("", "ManagedByOthers")
OUTCOMES = {("True", "Accepted"), ("False", "Invalid"), ("False", "PlanningLimitExceeded"), MANAGED}
QUOTAS = "/api/v1/namespaces/{}/resourcequotas"
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
    api.create(QUOTAS.format(name), NO_PODS)
    yield name
    api.delete(f"/api/v1/namespaces/{name}")


class InstalledOperator:
    """The pods of the operator that is installed in a cluster."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._began = self._restarts()
        assert self._began, f"no operator is installed in namespace {release.NAMESPACE}"
        self._pids = first_processes(self._uids())

    def is_well(self) -> bool:
        """Look whether the same containers run as when this began."""
        return self._restarts() == self._began

    def text(self) -> str:
        """Return what its pods have logged."""
        paths = (f"{release.PODS}/{name}/log" for name, _ in self._began)
        return "".join(self._api.send("GET", path)[1].decode() for path in paths)

    def starved(self) -> float:
        """Return for how long its processes were ready to run; 0 where they run on another machine."""
        return sum(thread_times(pid).starved for pid in self._pids)

    def blocked(self) -> float:
        """Return 0: its health is not reached from here."""
        return 0.0

    def _uids(self) -> set[str]:
        pods = [each["metadata"] for each in self._api.items(release.PODS)]
        return {each["uid"] for each in pods if each["name"].startswith(release.NAME)}

    def _restarts(self) -> set[tuple[str, int]]:
        return {
            (pod["metadata"]["name"], state["restartCount"])
            for pod in self._api.items(release.PODS)
            for state in pod["status"].get("containerStatuses", ())
        }


def first_processes(uids: set[str]) -> list[int]:
    """List the first process of each container of these pods, if they run on this machine; others may end."""
    parents: dict[int, int] = {}
    for group in Path("/proc").glob("[0-9]*/cgroup"):
        with contextlib.suppress(OSError):
            if any(uid in group.read_text() for uid in uids):
                after_name = (group.parent / "stat").read_text().rpartition(")")[2]
                parents[int(group.parent.name)] = int(after_name.split()[1])
    return [pid for pid, parent in parents.items() if parent not in parents]


class OwnOperator:
    """A process of the operator."""

    def __init__(self, process: Operator) -> None:
        self._process = process
        self.text = process.text

    def starved(self) -> float:
        """Return for how long it was ready to run while the machine ran others."""
        return thread_times(self._process.process.pid).starved

    def blocked(self) -> float:
        """Return for how many seconds its event loop computed before it answered."""
        begin, before = time.monotonic(), thread_times(self._process.process.pid)
        self._process.get("/healthz")
        passed, after = time.monotonic() - begin, thread_times(self._process.process.pid)
        return min(passed - (after.starved - before.starved), after.ran - before.ran)

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
    api.delete(operators.LEASE)  # of those that a test has killed: it would have to run out
    with operators.running(account, tmp_path / "log", *operators.LED) as leader:
        until(leader.leads, "the first operator to lead")
        with operators.running(account, tmp_path / "other", *operators.LED):
            yield OwnOperator(leader)
        assert "defect" not in leader.text()


def send(api: Api, namespace: str, number: int, document: dict[str, Any]) -> str:
    """Send a document; return its name where it is admitted. Raises where it is no matter of the document."""
    body = named(document, f"hostile-{number}")
    try:
        return str(api.create(operators.path(namespace), body)["metadata"]["name"])
    except ApiError as error:
        if error.status not in {400, 413, 422}:
            raise
        return ""


@contextlib.contextmanager
def undisturbed(api: Api, honest: str, operator: OwnOperator | InstalledOperator) -> Iterator[HonestUser]:
    """Have an honest user at work, who waits little throughout; the operator that leads goes on leading."""
    user = HonestUser(api, honest, operator)
    with user.at_work():
        before = lease(api)
        yield user
    longest = max(user.waits, key=lambda each: each.of_operator)
    most = max(each.passed for each in user.waits)
    print(f"{len(user.waits)} honest MiniClusters meanwhile, served within {most:.1f} s; {longest}")
    print(f"the event loop computed for at most {1_000 * max(user.blocks):.0f} ms")
    assert longest.of_operator < MAX_WAIT
    assert lease(api) == before
    assert operator.is_well()


def lease(api: Api) -> dict[str, Any]:
    """Return who leads, and how often that has changed."""
    spec = api.get(operators.LEASE)["spec"]
    return {key: spec.get(key) for key in ("holderIdentity", "leaseTransitions")}


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
    seed = request.config.getoption("--hostile-seed") or secrets.randbelow(1_000_000)
    print(f"--hostile-seed {seed} repeats these documents")
    api.create(QUOTAS.format(namespace), NO_PODS)
    with undisturbed(api, honest, operator):
        with ThreadPoolExecutor(SENDERS) as pool:
            sent = [
                pool.submit(send, api, namespace, number, document)
                for number, (_, document) in enumerate(documents(count, seed))
            ]
        admitted = {name for each in sent if (name := each.result())}
        found = judged(api, namespace, operator)
    print(f"{count} sent, {len(admitted)} admitted, all with a status: {dict(Counter(found.values()))}")
    assert found.keys() == admitted
    assert len(admitted) > count / 3
    assert set(found.values()) <= OUTCOMES


NAMES = ",".join(f"{number}h" for number in range(35_000))
CONFIG = {"brokerConfig": f'[bootstrap]\ncurve_cert="/c"\nhosts=[{{host="m-0,{NAMES}"}}]'}
BATCH = containers(command="`\n" * 131_000, batch=True)
HEAVY: dict[str, dict[str, Any]] = {
    "hostlist": {"flux": {"bursting": {"hostlist": "m-0,b[0-1000000]"}}},
    "gpus": containers(resources={"limits": {"nvidia.com/gpu": "1G"}}),
    "toml-dots": {"flux": {"brokerConfig": f"{'a.' * 100_000}a=1"}},
    "toml-hosts": {
        "flux": {"brokerConfig": '[bootstrap]\nhosts=[{host="a[0-1048574]"},{host="b[0-1048574]"}]'}
    },
    "toml-names": {"flux": CONFIG},
    "batch": BATCH,
    "both": {"flux": CONFIG, **BATCH},
    "command": containers(command='"$("a")" ' * 26_000),
}
"""What stopped operators of 0.1.0, and the dearest that are admitted; some are invalid."""


def test_the_heaviest_documents_cost_no_leadership_and_hold_nobody_up(
    api: Api, namespace: str, honest: str, operator: OwnOperator | InstalledOperator
) -> None:
    """Of two operators: the Lease stays with the one that had it."""
    api.create(QUOTAS.format(namespace), NO_PODS)
    with undisturbed(api, honest, operator) as user:
        for name, spec in HEAVY.items():
            for number in range(3):
                operators.create(api, namespace, f"{name}-{number}", **spec)
        found = judged(api, namespace, operator)
    assert len(found) == 3 * len(HEAVY)
    assert set(found.values()) <= OUTCOMES
    assert max(user.blocks) < MAX_BLOCK
