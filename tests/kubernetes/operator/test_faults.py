"""Crashes, refusals and lost answers at every single write, on the real API server: always the same end."""

import re
import secrets
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.devcluster import Access, Api, ControlPlane, until
from tests.kubernetes import leftovers, meddler, operators
from tests.kubernetes.meddler import Answer, CutError, Meddler, Plan, Write
from tests.kubernetes.mortality import killed_after_each_write
from tests.kubernetes.operators import ACCOUNT, SYSTEM, conditions, create, created, read, settled

# What is drawn anew for each MiniCluster.
KEYS = ("curve.cert", "door.crt", "door.key", "door.token", "metrics.token", "jobs.token", "burst.token")
# For each step of a life in which every write costs the start of a process, on a busy machine.
TIMEOUT = 600.0


@pytest.fixture(scope="module")
def proxy(own_plane: ControlPlane | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Meddler]:
    if own_plane is None:
        pytest.skip("needs a control plane of its own, not the cluster of --kube-context")
    operators.account(own_plane)
    access = own_plane.user(ACCOUNT, ["system:serviceaccounts", f"system:serviceaccounts:{SYSTEM}"])
    with meddler.meddling(access, tmp_path_factory.mktemp("proxy") / "kubeconfig") as found:
        yield found


def shape(value: Any) -> Any:
    """Return what of an object is the same in every life: neither names of the server's making nor times."""
    changing = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "status"}
    changing |= {"lastTransitionTime", "startTime", "clusterIP", "clusterIPs", "namespace", *KEYS}
    changing |= {"batch.kubernetes.io/controller-uid", "controller-uid"}
    if isinstance(value, dict):
        return {key: shape(part) for key, part in value.items() if key not in changing}
    if isinstance(value, list):
        return [shape(part) for part in value]
    drawn = r"(mc-(?:curve|tokens)-)[0-9a-f]+|(test-)[0-9a-f]+"
    return re.sub(drawn, r"\1\2…", value) if isinstance(value, str) else value


def outcome(api: Api, namespace: str) -> dict[str, Any]:
    """Return everything that a life has left, in a form that can be compared."""
    kinds = [collection for collection in operators.OWNED if not collection.endswith("/pods")]
    found = {
        collection.rpartition("/")[2]: [
            shape({**each, "metadata": {**each["metadata"], "annotations": digests_aside(each)}})
            for each in api.items(collection.format(namespace))
            if each["metadata"]["name"] != "kube-root-ca.crt"
        ]
        for collection in kinds
    }
    return {**found, "conditions": conditions(read(api, namespace))}


def digests_aside(item: dict[str, Any]) -> dict[str, str]:
    """The digest of an object is one of its MiniCluster's uid as well."""
    annotations = item["metadata"].get("annotations") or {}
    return {key: "…" if key.endswith("/applied") else value for key, value in annotations.items()}


def remains(api: Api, namespace: str) -> list[str]:
    """Return what is left of the MiniCluster `gone`."""
    return [each for each in operators.owned(api, namespace) if "gone" in each]


def live(api: Api, namespace: str, seconds: float = operators.SECONDS) -> None:
    """Make a MiniCluster, have it grow, suspend it."""
    create(api, namespace)
    created(api, namespace, seconds=seconds)
    api.merge(operators.path(namespace, "mc"), {"spec": {"size": 3}})
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs/mc"
    until(lambda: api.get(jobs)["spec"].get("completions") == 3, "the Job to grow", seconds)
    settled(api, namespace, seconds=seconds, Resizing=("False", "AtSize"))
    api.merge(operators.path(namespace, "mc"), {"spec": {"suspend": True}})
    not_started = ("False", "HeldBack")
    settled(api, namespace, seconds=seconds, Suspended=("True", "Suspended"), PodsScheduled=not_started)
    until(lambda: api.get(jobs)["status"].get("active", 0) == 0, "the pods to go", seconds)
    at_size = ("False", "AtSize")
    settled(api, namespace, seconds=seconds, ResourcesCreated=("True", "Created"), Resizing=at_size)


@pytest.fixture(scope="module")
def undisturbed(
    proxy: Meddler, own_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What a life ends in when nothing goes wrong."""
    proxy.begin()
    api = own_plane.api
    api.create("/api/v1/namespaces", {"metadata": {"name": "test-0"}})
    with operators.running(proxy.kubeconfig, tmp_path_factory.mktemp("undisturbed") / "log"):
        live(api, "test-0")
    found = outcome(api, "test-0")
    api.delete(operators.path("test-0", "mc"))
    return found


@pytest.mark.timeout(1500)
def test_killed_after_each_single_write(
    undisturbed: dict[str, Any], proxy: Meddler, api: Api, namespace: str, tmp_path: Path
) -> None:
    """The process dies before it hears the answer; the next one goes on from what there is."""
    with killed_after_each_write(proxy, tmp_path / "log", namespace) as lives:
        live(api, namespace, TIMEOUT)
    # Each object is created and the Job patched twice; how many patches the status takes is a matter of time.
    objects = sum(len(found) for kind, found in undisturbed.items() if kind != "conditions")
    assert len(lives) > objects + 2
    assert outcome(api, namespace) == undisturbed


def every_first(answer: Answer | CutError) -> Plan:
    """Interfere with every kind of write once."""
    met: set[tuple[str, str]] = set()

    def plan(write: Write) -> Answer | None:
        kind = (write.method, write.path)
        if kind in met:
            return None
        met.add(kind)
        if isinstance(answer, CutError):
            raise answer
        return answer

    return plan


FAULTS: dict[str, Answer | CutError] = {
    "409": Answer(409),
    "429": Answer(429, headers=(("Retry-After", "1"),)),
    "500": Answer(500),
    "503 though it was done": Answer(503, done=True),
    "cut before": CutError(done=False),
    "cut after": CutError(done=True),
}


@dataclass(frozen=True, slots=True)
class Life:
    """What a life under a fault ended in, and how often its operator came back to what had failed."""

    outcome: dict[str, Any]
    retries: float
    errors: float


def lived(fault: Answer | CutError, access: Access, api: Api, folder: Path) -> Life:
    """Live in a namespace of its own, behind a proxy of its own."""
    namespace = f"test-{secrets.token_hex(4)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    only = ("--namespace", namespace, "--no-leader-election")
    with meddler.meddling(access, folder / "kubeconfig") as proxy:
        proxy.begin(every_first(fault))
        with operators.running(proxy.kubeconfig, folder / "log", *only) as operator:
            live(api, namespace)
            counts = [
                operator.metric(f'minicluster_reconciles_total{{result="{word}"}}')
                for word in ("retry", "error")
            ]
    found = outcome(api, namespace)
    leftovers.delete(api, namespace)
    return Life(found, *counts)


@pytest.fixture(scope="module")
def lives(
    undisturbed: dict[str, Any], proxy: Meddler, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Future[Life]]:
    """A life under each fault, all at once: each waits most of its time."""
    with ThreadPoolExecutor(len(FAULTS)) as pool:
        return {
            name: pool.submit(lived, fault, proxy.access, api, tmp_path_factory.mktemp("fault"))
            for name, fault in FAULTS.items()
        }


@pytest.mark.timeout(400)
@pytest.mark.parametrize("fault", FAULTS)
def test_each_write_fails_once(
    fault: str, undisturbed: dict[str, Any], lives: dict[str, Future[Life]]
) -> None:
    life = lives[fault].result()
    assert life.retries >= 1
    assert life.errors == 0
    assert life.outcome == undisturbed


@pytest.mark.timeout(400)
def test_the_api_server_crashes_and_comes_back(
    undisturbed: dict[str, Any], own_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Watches begin anew; what was asked for meanwhile is done; what was deleted meanwhile is seen."""
    api = own_plane.api
    with operators.running(operators.account(own_plane), tmp_path / "log") as operator:
        create(api, namespace, "gone")
        created(api, namespace, "gone")
        own_plane.apiserver.restart()
        api.delete(operators.path(namespace, "gone"))
        live(api, namespace)
        # Kubernetes' own garbage collector takes its time after a crash of the API server.
        until(lambda: not remains(api, namespace), "no remains", operators.SECONDS)
        assert operator.get("/healthz") == (200, "ok\n")
    assert outcome(api, namespace) == undisturbed
