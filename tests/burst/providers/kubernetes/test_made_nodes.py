"""Pods on nodes that were made for them, in a cluster that is reached with a cloud's credentials."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

import pytest

from burst.errors import CallInvalid, RetryLater
from burst.providers.kubernetes.made_nodes import NO_KUBECONFIG, MadeNodes
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.node_pools.access import CloudAccess, ClusterEndpoint
from burst.providers.node_pools.settings import NodePoolSettings, pod_settings
from tests.burst.joining.near import join_settings
from tests.burst.providers.kubernetes.conftest import NOW
from tests.burst.providers.kubernetes.fake_api import NAMESPACE
from tests.burst.providers.kubernetes.test_tunnels import by_tunnel

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.kube_client.access import Access
    from tests.burst.providers.kubernetes.conftest import FarCluster

MACHINE = {"machine": "c8", "cores": 8, "price": "0.40", "priceDate": "2026-11-01"}
TABLE = {**MACHINE, "requests": {"cpu": "7500m"}}


def provider_of(
    far: FarCluster, access: Access | None = None, join: Any = join_settings
) -> KubernetesProvider:
    kubeconfig = far.provider._settings.kubeconfig if access is None else None
    settings = NodePoolSettings.model_validate(
        {"kubeconfig": kubeconfig, "namespace": NAMESPACE, "machines": [TABLE], "image": "example.org/far:1"}
    )
    made = MadeNodes("eks/eu/far/bursts", access)
    return KubernetesProvider("far", pod_settings(settings), join, lambda: NOW, made=made)


def cloud_access(far: FarCluster, folder: Path, token: str = "a-token") -> CloudAccess:
    [server] = re.findall(r"server: (\S+)", (far.provider._settings.kubeconfig or folder).read_text())
    return CloudAccess(endpoint=lambda: ClusterEndpoint(server), token=lambda: token, folder=folder)


def test_pods_run_on_the_nodes_of_their_burst_alone(far: FarCluster) -> None:
    provider = provider_of(far)
    provider.create(far.key, "token", far.wanted)
    [job] = far.api.of("jobs")
    pod = job["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"minicluster-burst": far.wanted.label}
    assert pod["tolerations"] == [
        {
            "key": "minicluster-burst",
            "operator": "Equal",
            "value": far.wanted.label,
            "effect": "NoSchedule",
        }
    ]
    assert pod["containers"][0]["resources"]["requests"] == {"cpu": "7500m"}
    assert pod["containers"][0]["image"] == "example.org/far:1"


def test_a_cluster_is_reached_by_what_its_cloud_reports(far: FarCluster, tmp_path: Path) -> None:
    provider = provider_of(far, cloud_access(far, tmp_path))
    assert provider.location == "eks/eu/far/bursts"
    provider.create(far.key, "token", far.wanted)
    assert [each.burst for each in provider.owned("here")] == [far.wanted.label]


def test_without_a_kubeconfig_a_tunnel_is_refused_in_words(far: FarCluster, tmp_path: Path) -> None:
    provider = provider_of(far, cloud_access(far, tmp_path), by_tunnel)
    with pytest.raises(CallInvalid, match="a tunnel needs a kubeconfig in the provider's settings"):
        provider.create(far.key, "token", far.wanted)
    assert far.api.of("jobs") == []
    assert list(provider.tunnel_problems()) == [NO_KUBECONFIG]


def test_what_the_cloud_refuses_is_its_own_error(far: FarCluster, tmp_path: Path) -> None:
    def refuse() -> ClusterEndpoint:
        raise RetryLater("too many calls", 7.0)

    access = CloudAccess(endpoint=refuse, token=str, folder=tmp_path)
    with pytest.raises(RetryLater, match="too many calls"):
        provider_of(far, access).owned("here")


def test_the_cloud_is_asked_once_and_a_token_is_made_each_time(tmp_path: Path) -> None:
    asked: list[str] = []

    def endpoint() -> ClusterEndpoint:
        asked.append("endpoint")
        return ClusterEndpoint("https://192.0.2.1", base64.b64encode(b"certificates").decode())

    def token() -> str:
        asked.append("token")
        return "a-secret"

    access = CloudAccess(endpoint=endpoint, token=token, folder=tmp_path / "far")
    found = [access.connect() for _ in range(2)]
    assert asked == ["endpoint", "token", "token"]
    assert found[0].headers() == {"Authorization": "Bearer a-secret"}
    assert "a-secret" not in f"{access} {found}"
    [path] = (tmp_path / "far").iterdir()
    assert (found[0].ca_path, path.read_bytes()) == (str(path), b"certificates")
    assert (tmp_path / "far").stat().st_mode & 0o777 == 0o700
