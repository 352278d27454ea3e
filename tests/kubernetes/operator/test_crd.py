"""An operator and the CRD: it may be installed after the operator has begun, and be deleted under it."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from minicluster.document import crd
from tests.devcluster import ControlPlane, Options, cluster, until
from tests.kubernetes import operators
from tests.kubernetes.operators import Operator
from tests.release_0_1_0.adapters import DATA

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "miniclusters.flux-framework.org"
OPENAPI = "/openapi/v3/apis/flux-framework.org/v1alpha2"


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
    install(bare, yaml.safe_load(gzip.decompress((DATA / "crd.yaml.gz").read_bytes())))
    until(lambda: publishes(bare, "lastDump") and not publishes(bare, "restartedJobs"), "the old fields")


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


def test_a_crd_that_is_deleted_ends_the_operator_with_a_word(bare: ControlPlane, operator: Operator) -> None:
    """Every line of its log is one object, also the last; whoever started it starts it again."""
    if not bare.api.exists(f"{CRDS}/{NAME}"):
        bare.api.create(CRDS, crd())
    operator.ready()
    bare.api.delete(f"{CRDS}/{NAME}")
    assert until(lambda: operator.process.poll() is not None, "the operator to end")
    *before, last = lines(operator)
    assert [each for each in before if "error" in each] == [], "a traceback"
    assert (operator.process.returncode, last["level"]) == (1, "error")
    assert last["message"].startswith("the operator ends: MiniClusters cannot be followed any more: 404")
