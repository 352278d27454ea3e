"""An operator and the CRD: it may be installed after the operator has begun, and be deleted under it."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from minicluster.document import crd, messages
from tests.devcluster import ApiError, ControlPlane, Options, cluster, until
from tests.kubernetes import operators
from tests.kubernetes.operators import Operator
from tests.release_0_1_0.adapters import DATA

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "miniclusters.flux-framework.org"
OPENAPI = "/openapi/v3/apis/flux-framework.org/v1alpha2"
WATCH_SECONDS = 150.0
"""In which a watch ends whose CRD was deleted: the API server first waits for requests that are under way, up
to 120 s, twice its request timeout (`tearDown` in apiextensions-apiserver's customresource_handler.go)."""


@pytest.fixture(scope="module")
def bare(request: pytest.FixtureRequest, programs: None) -> Iterator[ControlPlane]:
    """A control plane that does not know MiniClusters."""
    if request.config.getoption("--kube-context"):
        pytest.skip("needs a control plane of its own, not the cluster of --kube-context")
    with cluster(Options(audit=True)) as plane:
        yield plane


@pytest.fixture
def old_crd(bare: ControlPlane) -> None:
    """The CRD of 0.1.0, before an operator begins."""
    install_old(bare)


@pytest.fixture
def operator(bare: ControlPlane, tmp_path: Path) -> Iterator[Operator]:
    """An operator that was started, ready or not, and is ended."""
    found = operators.start(operators.account(bare), tmp_path / "log")
    yield found
    found.kill()


def lines(operator: Operator) -> list[dict[str, str]]:
    return [json.loads(line) for line in operator.text().splitlines()]


def answers(operator: Operator, path: str) -> tuple[int, str]:
    """Return what it answers, 0 as long as it does not."""
    ready = operator.is_ready()
    return (200, "ok") if ready else operator.get(path) if operator.port else (0, "")


def install(plane: ControlPlane, definition: dict[str, Any]) -> None:
    """Create the CRD, or put this one in its place."""
    if not plane.api.exists(f"{CRDS}/{NAME}"):
        plane.api.create(CRDS, definition)
        return
    version = plane.api.get(f"{CRDS}/{NAME}")["metadata"]["resourceVersion"]
    metadata = {**definition["metadata"], "resourceVersion": version}
    plane.api.call("PUT", f"{CRDS}/{NAME}", {**definition, "metadata": metadata})


def install_old(plane: ControlPlane) -> None:
    """Put the CRD of 0.1.0 in place."""
    install(plane, yaml.safe_load(gzip.decompress((DATA / "crd.yaml.gz").read_bytes())))
    until(lambda: publishes(plane, "lastDump") and not publishes(plane, "restartedJobs"), "the old fields")


def publishes(plane: ControlPlane, field: str) -> bool:
    """Tell whether the fields that the API server publishes have a name: a moment after a CRD has them."""
    return plane.api.exists(OPENAPI) and f'"{field}":' in json.dumps(plane.api.get(OPENAPI))


def test_a_crd_that_comes_later_is_noticed(bare: ControlPlane, operator: Operator) -> None:
    """Until then the operator is not ready, and says what to do; then it looks after MiniClusters."""
    status, body = until(
        lambda: found if "not known" in (found := answers(operator, "/readyz"))[1] else None,
        "the operator to miss the CRD",
    )
    assert (status, "install the CRD" in body) == (503, True)
    bare.api.create(CRDS, crd())
    operator.ready()
    operators.create(bare.api, "default")
    operators.created(bare.api, "default")
    assert sum("install the CRD" in each["message"] for each in lines(operator)) == 1


def test_an_older_crd_is_not_worked_with(bare: ControlPlane, old_crd: None, operator: Operator) -> None:
    """The API server would drop what is remembered; once the newer CRD is there, all goes on."""
    status, body = until(
        lambda: found if "older" in (found := answers(operator, "/readyz"))[1] else None,
        "the operator to miss fields",
    )
    assert (status, "it lacks status.lead, status.save, " in body) == (503, True)
    install(bare, crd())
    operator.ready()
    assert sum("the CRD is older" in each["message"] for each in lines(operator)) == 1


BEYOND: dict[str, dict[str, Any]] = {
    "hosts": {"maxSize": 60_000, "flux": {"bursting": {"clusters": [{"size": 60_000}]}}},
    "cores": {"containers": [{"command": "hostname", "resources": {"requests": {"cpu": "5000"}}}]},
    "gpus": {"containers": [{"command": "hostname", "resources": {"limits": {"nvidia.com/gpu": 5_000}}}]},
}


def test_what_an_older_crd_took_beyond_a_bound_lives_on(bare: ControlPlane) -> None:
    lives_on(bare)


def test_so_it_does_on_the_oldest_kubernetes(oldest_plane: ControlPlane) -> None:
    """Which checks all rules again where a status is written."""
    lives_on(oldest_plane)


def lives_on(plane: ControlPlane) -> None:
    """Check that it gets its status, shrinks and goes, and that only a larger one is refused."""
    install_old(plane)
    for name, spec in BEYOND.items():
        operators.create(plane.api, "default", name, **spec)
    install(plane, crd())
    until(lambda: not admits(plane, BEYOND["hosts"]), "the bounds")
    for name in BEYOND:
        where = operators.path("default", name)
        plane.api.merge(f"{where}/scale", {"spec": {"replicas": 1}})
        plane.api.merge(f"{where}/status", {"status": {"phase": "Pending"}})
        plane.api.merge(where, {"metadata": {"finalizers": ["example.org/held"]}})
        found = operators.read(plane.api, "default", name)
        assert (found["spec"]["size"], found["status"]["phase"]) == (1, "Pending")
    larger = {"spec": {"maxSize": 60_001}}
    words = operators.refusal(lambda: plane.api.merge(operators.path("default", "hosts"), larger))
    assert words.endswith(f": {messages.TOO_MANY_HOSTS}")
    for name in BEYOND:
        where = operators.path("default", name)
        plane.api.delete(where)
        plane.api.merge(where, {"metadata": {"finalizers": None}})
        assert not plane.api.exists(where)


def admits(plane: ControlPlane, spec: dict[str, Any]) -> bool:
    """Tell whether the API server would store a MiniCluster with these fields of its spec."""
    item: dict[str, Any] = {**operators.DOCUMENT, "metadata": {"name": "trial"}}
    item["spec"] = {**item["spec"], **spec}
    try:
        plane.api.create(f"{operators.path('default')}?dryRun=All", item)
    except ApiError:
        return False
    return True


@pytest.mark.timeout(WATCH_SECONDS + 60)
def test_a_crd_that_is_deleted_ends_the_operator_with_a_word(bare: ControlPlane, operator: Operator) -> None:
    """Every line of its log is one object, also the last; whoever started it starts it again."""
    if not bare.api.exists(f"{CRDS}/{NAME}"):
        bare.api.create(CRDS, crd())
    operator.ready()
    bare.api.delete(f"{CRDS}/{NAME}")
    assert until(lambda: operator.process.poll() is not None, "the operator to end", WATCH_SECONDS)
    *before, last = lines(operator)
    assert [each for each in before if "error" in each] == [], "a traceback"
    assert (operator.process.returncode, last["level"]) == (1, "error")
    assert last["message"].startswith("the operator ends: MiniClusters cannot be followed any more: 404")
