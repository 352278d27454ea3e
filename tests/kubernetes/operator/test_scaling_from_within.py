"""A pod's service account on a real API server: by the example's Role it may scale this one MiniCluster."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from minicluster import within
from minicluster.within import service_account
from minicluster.within.context import PodContext
from tests.devcluster import Api, ControlPlane, until
from tests.devcluster.lookup import kubernetes, locate
from tests.kubernetes.command_line import MINICLUSTERS

EXAMPLE = Path(__file__).parents[3] / "examples" / "scaling-from-within" / "minicluster.yaml"
NAME = "growing"
PATHS = {
    "MiniCluster": "/apis/flux-framework.org/v1alpha2/namespaces/{}/miniclusters",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
}
TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}


def make(api: Api, namespace: str, *kinds: str) -> None:
    """Create the example's documents of these kinds."""
    for item in yaml.safe_load_all(EXAMPLE.read_text()):
        if item["kind"] in kinds:
            api.create(PATHS[item["kind"]].format(namespace), item)


@pytest.fixture
def inside(plane: ControlPlane, namespace: str, tmp_path: Path) -> Callable[..., PodContext]:
    """What a pod has of its service account, as a kubelet would put it there."""

    def account(name: str = NAME) -> PodContext:
        resource_path = f"{PATHS['ServiceAccount'].format(namespace)}/{NAME}/token"
        token = plane.api.call("POST", resource_path, TOKEN)["status"]["token"]
        (tmp_path / "token").write_text(token)
        (tmp_path / "ca.crt").write_bytes(plane.admin.authority or b"")
        (tmp_path / "namespace").write_text(namespace)
        url = urlsplit(plane.url)
        return PodContext(name, namespace, url.hostname or "", url.port or 443, tmp_path)

    return account


def size(api: Api, namespace: str, name: str = NAME) -> int:
    found: dict[str, Any] = api.get(f"{MINICLUSTERS.format(namespace)}/{name}")
    return int(found["spec"]["size"])


def scaled(pod: PodContext, wanted: int) -> bool:
    """Scale, as soon as the API server knows the right."""
    try:
        service_account.scale(pod, wanted)
    except within.DeniedError:
        return False
    return True


def test_the_examples_role_is_enough(
    plane: ControlPlane, namespace: str, inside: Callable[..., PodContext]
) -> None:
    make(plane.api, namespace, *PATHS)
    until(lambda: scaled(inside(), 3), "the Role to count")
    assert size(plane.api, namespace) == 3


def test_it_is_for_this_one_alone(
    plane: ControlPlane, namespace: str, inside: Callable[..., PodContext]
) -> None:
    make(plane.api, namespace, *PATHS)
    until(lambda: scaled(inside(), 2), "the Role to count")
    (item,) = (each for each in yaml.safe_load_all(EXAMPLE.read_text()) if each["kind"] == "MiniCluster")
    item["metadata"]["name"] = "other"
    plane.api.create(MINICLUSTERS.format(namespace), item)
    with pytest.raises(within.DeniedError, match=r'"other" is forbidden'):
        service_account.scale(inside("other"), 2)
    assert size(plane.api, namespace, "other") == 1


def test_a_size_above_the_greatest_is_refused(
    plane: ControlPlane, namespace: str, inside: Callable[..., PodContext]
) -> None:
    make(plane.api, namespace, *PATHS)
    until(lambda: scaled(inside(), 2), "the Role to count")
    with pytest.raises(within.RefusedError, match=r"cannot have 4 brokers: .*maxSize"):
        service_account.scale(inside(), 4)


def test_one_that_is_not_there_is_named(
    plane: ControlPlane, namespace: str, inside: Callable[..., PodContext]
) -> None:
    make(plane.api, namespace, "ServiceAccount", "Role", "RoleBinding")

    def refusal() -> str:
        with pytest.raises(within.WithinError) as refused:
            service_account.scale(inside(), 2)
        return str(refused.value) if isinstance(refused.value, within.NotInsideError) else ""

    assert f"MiniCluster {NAME} in namespace {namespace} is not there" in until(refusal, "the Role to count")


def test_a_token_that_is_none_is_refused(
    plane: ControlPlane, namespace: str, inside: Callable[..., PodContext]
) -> None:
    make(plane.api, namespace, "ServiceAccount", "MiniCluster")
    pod = inside()
    (pod.account / "token").write_text("forged")
    with pytest.raises(within.DeniedError, match="does not accept the pod's token"):
        service_account.scale(pod, 2)


def test_the_refusal_reports_how_the_right_is_given(
    plane: ControlPlane, namespace: str, inside: Callable[..., PodContext]
) -> None:
    """Its words are run as they are."""
    kubectl = locate(kubernetes()).get("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl beside the other programs of Kubernetes")
    make(plane.api, namespace, "MiniCluster", "ServiceAccount")
    with pytest.raises(within.DeniedError) as refused:
        service_account.scale(inside(), 2)
    for line in re.findall(r"(?m)^  kubectl (.+)$", str(refused.value)):
        words = [kubectl, "--kubeconfig", plane.kubeconfig, *line.split()]
        subprocess.run(words, check=True, capture_output=True, timeout=60)
    until(lambda: scaled(inside(), 2), "the Role to count")
    assert size(plane.api, namespace) == 2
