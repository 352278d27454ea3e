"""A lead's way from outside: a Service and a policy, made once, and taken back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from burst.errors import CallInvalid, NameTaken
from burst.joining import exposure
from burst.joining.exposure import ExposureSettings, ExposureWay, LeadAddress
from minicluster.document import MiniCluster
from minicluster.kube_client.access import Access
from minicluster.kube_client.client import ApiClient
from minicluster.plan.objects.labels import lead_pod
from tests.devcluster import until
from tests.kubernetes import operators

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.devcluster import Api, ControlPlane

T = TypeVar("T")

HOST = "192.0.2.11"
RANGES = ("10.101.0.0/16", "2001:db8::/32")
NODE_PORT = ExposureSettings(source_ranges=RANGES)
BALANCER = ExposureSettings(ExposureWay.LOAD_BALANCER, ("192.0.2.0/24",))


class Exposed:
    """A MiniCluster that no operator sees."""

    def __init__(self, plane: ControlPlane, api: Api, namespace: str) -> None:
        self._access = Access(str(plane.kubeconfig), plane.admin.context or "")
        self.api = api
        self.namespace = namespace
        self.cluster = MiniCluster.model_validate(operators.create(api, namespace))
        self.name = exposure.exposure_name(self.cluster)

    def expose(self, settings: ExposureSettings) -> LeadAddress | None:
        return self._visit(lambda client: exposure.expose(client, self.cluster, settings))

    def unexpose(self) -> None:
        self._visit(lambda client: exposure.unexpose(client, self.cluster))

    @property
    def service_path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/services/{self.name}"

    @property
    def policy_path(self) -> str:
        return f"/apis/networking.k8s.io/v1/namespaces/{self.namespace}/networkpolicies/{self.name}"

    def lead(self) -> None:
        """Have a pod of the lead's; a fake node has no address, so the test gives it one."""
        spec = {"containers": [{"name": "flux", "image": "example.org/app:1"}]}
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        self.api.create(path, {"metadata": {"name": "mc-0", "labels": lead_pod(self.cluster)}, "spec": spec})
        until(lambda: self.api.get(f"{path}/mc-0")["status"]["phase"] == "Running", "the lead", 60.0)
        self.api.merge(f"{path}/mc-0/status", {"status": {"hostIP": HOST, "hostIPs": [{"ip": HOST}]}})

    def _visit(self, work: Callable[[ApiClient], Awaitable[T]]) -> T:
        async def visited() -> T:
            async with ApiClient(self._access) as client:
                return await work(client)

        return asyncio.run(visited())


@pytest.fixture
def exposed(plane: ControlPlane, api: Api, namespace: str) -> Exposed:
    plane.add_fake_nodes(1)
    return Exposed(plane, api, namespace)


def test_a_lead_is_reached_at_its_node_once_it_has_one(exposed: Exposed) -> None:
    assert exposed.expose(NODE_PORT) is None
    exposed.lead()
    found = exposed.expose(NODE_PORT)
    assert found is not None
    spec = exposed.api.get(exposed.service_path)["spec"]
    [port] = spec["ports"]
    assert found == LeadAddress(HOST, port["nodePort"])
    assert (spec["type"], spec["externalTrafficPolicy"], spec["publishNotReadyAddresses"]) == (
        "NodePort",
        "Local",
        True,
    )
    assert port["targetPort"] == exposed.cluster.spec.network.port
    named = ExposureSettings(source_ranges=RANGES, address="login.example.org")
    assert exposed.expose(named) == LeadAddress("login.example.org", port["nodePort"])


def test_the_policy_admits_the_brokers_port_from_the_ranges_alone(exposed: Exposed) -> None:
    exposed.expose(NODE_PORT)
    spec = exposed.api.get(exposed.policy_path)["spec"]
    [rule] = spec["ingress"]
    assert [each["ipBlock"]["cidr"] for each in rule["from"]] == list(RANGES)
    assert rule["ports"] == [{"port": exposed.cluster.spec.network.port, "protocol": "TCP"}]
    assert spec["podSelector"]["matchLabels"]["batch.kubernetes.io/job-completion-index"] == "0"


def test_what_is_exposed_again_stays_as_it_is(exposed: Exposed) -> None:
    exposed.expose(NODE_PORT)
    before = exposed.api.get(exposed.service_path)
    exposed.expose(NODE_PORT)
    assert exposed.api.get(exposed.service_path) == before
    [owner] = before["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("MiniCluster", exposed.cluster.metadata.uid)


def test_a_load_balancer_has_an_address_when_the_cloud_gives_it_one(exposed: Exposed) -> None:
    assert exposed.expose(BALANCER) is None
    spec = exposed.api.get(exposed.service_path)["spec"]
    assert (spec["type"], spec["loadBalancerSourceRanges"]) == ("LoadBalancer", ["192.0.2.0/24"])
    ingress: dict[str, Any] = {"loadBalancer": {"ingress": [{"hostname": "lb.example.org"}]}}
    exposed.api.merge(f"{exposed.service_path}/status", {"status": ingress})
    port = exposed.cluster.spec.network.port
    assert exposed.expose(BALANCER) == LeadAddress("lb.example.org", port)


def test_it_is_taken_back_and_may_be_again(exposed: Exposed) -> None:
    exposed.expose(NODE_PORT)
    for _ in range(2):
        exposed.unexpose()
        assert not exposed.api.exists(exposed.service_path)
        assert not exposed.api.exists(exposed.policy_path)


def test_a_service_of_somebody_else_is_left_alone(exposed: Exposed) -> None:
    body = {"metadata": {"name": exposed.name}, "spec": {"ports": [{"port": 1}]}}
    exposed.api.create(exposed.service_path.rpartition("/")[0], body)
    with pytest.raises(NameTaken, match=f"Service {exposed.name} is there, and not of this MiniCluster"):
        exposed.expose(NODE_PORT)
    exposed.unexpose()
    assert exposed.api.exists(exposed.service_path)


def test_what_is_no_range_is_refused_before_anything_is_made(exposed: Exposed) -> None:
    with pytest.raises(CallInvalid, match=r"source ranges: '10.0.0.0/33' .*; right would be 10.0.0.0/8"):
        exposed.expose(ExposureSettings(source_ranges=("10.0.0.0/33",)))
    assert not exposed.api.exists(exposed.policy_path)


def test_a_name_fits_and_is_of_one_minicluster() -> None:
    long = MiniCluster.model_validate(
        {"metadata": {"name": "a" * 50, "uid": "5f0e2a8c-1111-2222"}, "spec": operators.DOCUMENT["spec"]}
    )
    assert exposure.exposure_name(long) == f"{'a' * 40}-bursts-5f0e2a8c1111"
