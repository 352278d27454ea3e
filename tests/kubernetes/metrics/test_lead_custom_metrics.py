"""A lead's door as the server of custom metrics of a real API server, as examples/autoscaling has it."""

import base64
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from metrics_api.lead.custom_metrics import CustomMetrics, Own
from metrics_api.lead.sampled import Sampled
from metrics_api.numbers.records import Sample
from minicluster.broker_link.errors import InstanceGone
from minicluster.document import crd
from minicluster.lead_server.files import ServerCredentials
from minicluster.lead_server.server import Server
from tests.devcluster import Api, ApiError, ControlPlane, Options, cluster, until
from tests.kubernetes import adapters, operators
from tests.kubernetes.adapters import AGGREGATED_BY, API_SERVICES, V1, V2
from tests.kubernetes.autoscalers import EVERY_SECOND, HPAS, active, hpa
from tests.lead.keys import Authority

EXAMPLE = Path(__file__).parents[3] / "examples/autoscaling/custom-metrics.yaml"
NAMESPACE, NAME = "default", "autoscaled-metrics"
HOST = f"{NAME}.{NAMESPACE}.svc"
VALUE = "{}/namespaces/default/miniclusters.flux-framework.org/mc/flux_nodes_demanded"


@dataclass
class Lead:
    """The lead of MiniCluster default/mc: a door on this machine, and its numbers, where it has any."""

    folder: Path
    demanded: int | None = 3
    log: list[str] = field(default_factory=list)

    def read(self) -> Sampled:
        if self.demanded is None:
            raise InstanceGone("the instance does not answer")
        return Sampled(time.time(), time.monotonic(), [Sample("flux_nodes_demanded", self.demanded)])

    def lead_api(self, front_proxy: dict[str, str]) -> Server:
        """Return its door, with a certificate for the API server, and what that says of its front proxy."""
        Authority().write(self.folder / "door")
        secret, serving = self.folder / "readers", Authority()
        serving.issue(secret, HOST)
        (secret / "ca.crt").rename(self.folder / "trusted.crt")
        for key in ("requestheader-client-ca-file", "requestheader-allowed-names"):
            (secret / key).write_text(front_proxy[key])
        (secret / "apis-host").write_text(HOST)
        custom = CustomMetrics(Own(NAMESPACE, "mc", "mc"), self.read)
        credentials = ServerCredentials(str(self.folder / "door"), self.log.append, str(secret))
        return Server(0, credentials, {}, self.log.append, {}, {"apis": custom, "openapi": custom})


@pytest.fixture(scope="module")
def plane(programs: None) -> Iterator[ControlPlane]:
    """A control plane whose autoscaler looks every second."""
    with cluster(Options(crds=[crd()], controller_manager=EVERY_SECOND)) as found:
        yield found


@pytest.fixture(scope="module")
def lead(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lead]:
    """A lead that the API server asks, as the example says, but at a door on this machine."""
    found, api = Lead(tmp_path_factory.mktemp("lead")), plane.api
    until(lambda: api.exists(AGGREGATED_BY), "what is published of the front proxy", operators.SECONDS)
    server = found.lead_api(api.get(AGGREGATED_BY)["data"])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    bundle = base64.b64encode((found.folder / "trusted.crt").read_bytes()).decode()
    for item in yaml.safe_load_all(EXAMPLE.read_text()):
        name = item["metadata"]["name"]
        if item["kind"] == "Service":
            item["spec"] = {"type": "ExternalName", "externalName": adapters.LOOPBACK}
            api.create(f"/api/v1/namespaces/{NAMESPACE}/services", item)
        else:
            item["spec"] |= {"caBundle": bundle}
            item["spec"]["service"] |= {"port": server.port}
            api.create(API_SERVICES, item)
            adapters.wait_available(api, name)
    yield found
    server.stop()
    server.connections.hang_up_all()
    server.server_close()
    thread.join()
    assert found.log == []


def refused(api: Api, path: str) -> tuple[int, str]:
    """Return the code and the message with which a path is refused."""
    with pytest.raises(ApiError) as raised:
        api.get(path)
    return raised.value.status, str(raised.value)


def test_both_versions_are_answered(plane: ControlPlane, lead: Lead) -> None:
    """To whoever is of system:masters, as the administrator of this cluster is."""
    lead.demanded = 3
    found: list[Any] = [plane.api.get(VALUE.format(version))["items"] for version in (V1, V2)]
    assert [each["value"] for [each] in found] == ["3", "3"]


def test_they_are_discovered(plane: ControlPlane, lead: Lead) -> None:
    names = {each["name"] for each in plane.api.get(V2)["resources"]}
    assert "miniclusters.flux-framework.org/flux_nodes_demanded" in names


def test_who_is_not_named_is_refused_whatever_rights_there_are(plane: ControlPlane, lead: Lead) -> None:
    """The API server lets her through."""
    rule = {"apiGroups": ["custom.metrics.k8s.io"], "resources": ["*"], "verbs": ["get"]}
    reference = {"kind": "ClusterRole", "name": "metrics", "apiGroup": "rbac.authorization.k8s.io"}
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    rights = "/apis/rbac.authorization.k8s.io/v1"
    plane.api.create(f"{rights}/clusterroles", {"metadata": {"name": "metrics"}, "rules": [rule]})
    binding = {"metadata": {"name": "metrics"}, "roleRef": reference, "subjects": [subject]}
    plane.api.create(f"{rights}/clusterrolebindings", binding)
    jane, message = Api(plane.user("jane")), "'jane' is not among those who may read"
    until(lambda: message in refused(jane, VALUE.format(V2))[1], "her right to be known", operators.SECONDS)
    assert refused(jane, VALUE.format(V2))[0] == 403
    jane.hang_up()


def test_an_autoscaler_follows_and_holds_the_size_without_numbers(plane: ControlPlane, lead: Lead) -> None:
    api, lead.demanded = plane.api, 2
    operators.create(api, NAMESPACE, "mc", size=2, minSize=1, maxSize=8)
    status = {"size": 2, "selector": "hpa-selector=mc", "phase": "Running"}
    api.merge(operators.path(NAMESPACE, "mc", "status"), {"status": status})
    api.create(HPAS.format(NAMESPACE), hpa("Object"))
    lead.demanded = 5
    until(lambda: operators.read(api, NAMESPACE)["spec"]["size"] == 5, "size 5", operators.SECONDS)
    lead.demanded = None
    until(lambda: active(api, NAMESPACE) == "False", "the autoscaler to notice", operators.SECONDS)
    assert operators.read(api, NAMESPACE)["spec"]["size"] == 5
    code, message = refused(api, VALUE.format(V2))
    assert (code, "the instance does not answer" in message) == (503, True)
