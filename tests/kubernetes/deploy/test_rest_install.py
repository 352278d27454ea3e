"""The RESTful API's installation on a real API server: accepted, restricted, and with the rights it has."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.files import REST_CHART, Object, the
from tests.devcluster import Api, ControlPlane
from tests.kubernetes.chart_release import Release
from tests.kubernetes.deploy.acceptance import accepted
from tests.kubernetes.deploy.rest_chart import NAME, NEEDED, POSTGRESQL, objects_in

MINICLUSTERS = "flux-framework.org/miniclusters"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
CLAIM = "/api/v1/namespaces/{}/persistentvolumeclaims/minicluster-rest-database"
SET = [word for value in NEEDED for word in ("--set", value)]
FORMS = {"sqlite": (), "replicas": (POSTGRESQL, "replicas=2"), "ingress": ("ingress.enabled=true",)}
LABELS = {"app.kubernetes.io/name": "minicluster-operator"}
OPERATOR: Object = {
    "metadata": {"name": "operator", "labels": LABELS},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"containers": [{"name": "operator", "image": "example.org/operator:1"}]},
        },
    },
}


@pytest.mark.parametrize("values", FORMS.values(), ids=FORMS)
def test_the_api_server_accepts_every_object(
    api: Api, namespace: str, helm: Path, values: tuple[str, ...]
) -> None:
    assert all(accepted(api, item) for item in objects_in(helm, namespace, *values))


@pytest.mark.parametrize("values", [(), (POSTGRESQL,)], ids=["sqlite", "postgresql"])
def test_its_pod_passes_pod_security_restricted(
    api: Api, namespace: str, helm: Path, values: tuple[str, ...]
) -> None:
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.merge(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": label}})
    found = objects_in(helm, namespace, *values)
    api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", the(found, "ServiceAccount"))
    template = the(found, "Deployment")["spec"]["template"]
    pod = {"metadata": {**template["metadata"], "generateName": "rest-"}, "spec": template["spec"]}
    made = api.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    assert made["spec"]["securityContext"]["runAsNonRoot"] is True


@pytest.fixture
def release(helm: Path, plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Release]:
    """The chart, in a namespace without an operator; nothing of it is left where others look."""
    found = Release(helm, plane, tmp_path, namespace, NAME)
    yield found
    found.tried("uninstall")


def test_without_an_operator_in_its_namespace_it_is_refused(release: Release) -> None:
    assert (
        f"there is no operator in namespace {release.namespace}: MiniClusters admit this service only in the"
        " namespace of their operator, whose Secret minicluster-jobs it needs. Install it there: `kubectl get"
        " deployments --all-namespaces --selector app.kubernetes.io/name=minicluster-operator` shows where"
        " that is. Nothing was changed"
    ) in release.refusal(REST_CHART, *SET)


def test_who_may_not_list_deployments_can_leave_that_out(release: Release) -> None:
    tried = release.tried(
        "upgrade", str(REST_CHART), "--install", "--dry-run=server", *SET, "--set", "clusterChecks=false"
    )
    assert tried.returncode == 0, tried.stderr


def test_beside_an_operator_it_may_get_its_keys_and_follow_miniclusters(release: Release) -> None:
    """And nothing of what would let it change one, or run a command in a pod; its volume outlives it."""
    here = release.namespace
    release.api.create(DEPLOYMENTS.format(here), OPERATOR)
    release.install(REST_CHART, *SET)
    questions = {
        ("list", MINICLUSTERS): True,
        ("watch", MINICLUSTERS, "anywhere"): True,
        ("get", "/secrets", here, "minicluster-jobs"): True,
        ("get", "/secrets", here, "minicluster-operator-door"): False,
        ("get", "/secrets", "anywhere", "minicluster-jobs"): False,
        ("list", "/secrets", here): False,
        ("patch", MINICLUSTERS, "anywhere"): False,
        ("create", "/pods/exec", "anywhere"): False,
        ("list", "/pods", here): False,
    }
    assert {each: release.may(release.account, *each) for each in questions} == questions
    release.run("uninstall")
    assert not release.api.exists(f"{DEPLOYMENTS.format(here)}/{NAME}")
    assert release.api.exists(CLAIM.format(here))
