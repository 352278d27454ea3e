"""Who reaches a MiniCluster's pods and the operator's, on a network that enforces NetworkPolicies.

The chart as shipped, one MiniCluster, and pods that have no business there.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from minicluster.plan.constants import LEAD_API_PORT, OPERATOR_APPLICATION
from tests.devcluster import ControlPlane, node_images, until
from tests.devcluster.release import NAME, NAMESPACE, PODS, Release
from tests.kubernetes import adapters, autoscalers, reach, script_pods
from tests.kubernetes.live import BROKER_PORT, DOCUMENT, SECONDS, Live
from tests.kubernetes.metrics.adapter.asked import CLUSTERS, known, value
from tests.kubernetes.reach import NOBODY, OPEN, REFUSED, Endpoint
from tests.kubernetes.script_pods import pod

pytestmark = pytest.mark.timeout(900)
HEALTH = 8080  # /healthz, /readyz and /metrics of the operator
DOCUMENTED, SERVED, UNNAMED = 9000, 18765, 41234
"""Ports: of the brokers in the document, of the services pod in the document, and in no document."""
SERVICE = {
    "name": "web",
    "image": node_images.EMBEDDED,
    "command": f"exec python3 -m http.server {SERVED} --directory /tmp",
    "ports": [SERVED],
}
SIZES = {"size": 2, "minSize": 2, "maxSize": 3, "autoscaling": {}}
NAME_LABEL = "app.kubernetes.io/name"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies"
SCRAPERS = r"networkPolicy.scrapers[0].namespaceSelector.matchLabels.kubernetes\.io/metadata\.name"
COMPONENT = "app.kubernetes.io/component"
SERVICES = f"{COMPONENT}=services"
OWN = (NAME_LABEL, "app.kubernetes.io/instance", COMPONENT)
OTHERS = ("neighbor", "outsider", "distant", "impostor", "double")
"""Pods without business here: of the same namespace; of another one on the lead's node, and on another node;
labeled as the operator; labeled as a broker."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What runs: the MiniCluster, and endpoints by name, such as `lead` and `outsider`."""

    live: Live
    endpoints: dict[str, Endpoint]

    def dial(self, source: str, target: str, port: int) -> str:
        """Try a connection."""
        return self.endpoints[source].dial(self.endpoints[target].address, port)


@pytest.fixture(scope="module")
def spaces(nodes: ControlPlane) -> Iterator[tuple[str, str, str]]:
    """Three namespaces: the MiniCluster's, one of others, and one that may scrape."""
    api = nodes.api
    with script_pods.space(api) as own, script_pods.space(api) as other, script_pods.space(api) as scrapers:
        yield own, other, scrapers


@pytest.fixture(scope="module")
def scraped(release: Release, spaces: tuple[str, str, str]) -> Iterator[Release]:
    """The chart, with a namespace that may scrape."""
    release.install("--set", f"{SCRAPERS}={spaces[2]}")
    release.wait_ready()
    yield release
    release.install()


@pytest.fixture(scope="module")
def scene(scraped: Release, nodes: ControlPlane, spaces: tuple[str, str, str]) -> Iterator[Scene]:
    """A MiniCluster of two brokers and a service, and the pods that try to reach it, near and far."""
    own, other, scrapers = spaces
    live = Live(nodes.api, own)
    live.create({"ports": [DOCUMENTED]}, interactive=True, services=[SERVICE], **SIZES).joined(2)
    brokers = live.pods.by_rank()
    here, away = (brokers[rank]["spec"]["nodeName"] for rank in (0, 1))
    as_broker = {key: text for key, text in brokers[0]["metadata"]["labels"].items() if key in OWN}
    sleeping = [
        (own, sleeper("neighbor", here)),
        (scrapers, sleeper("scraper", away)),
        (other, sleeper("outsider", here)),
        (other, sleeper("distant", away)),
        (other, sleeper("impostor", here, {NAME_LABEL: OPERATOR_APPLICATION})),
        (other, sleeper("double", away, as_broker)),
    ]
    for namespace, one in sleeping:
        script_pods.create(nodes.api, namespace, one)
    for namespace, one in sleeping:
        script_pods.wait_running(nodes.api, namespace, one["metadata"]["name"])
    yield Scene(live, endpoints(nodes, live, *spaces))
    live.delete()


def sleeper(name: str, node: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """Return a pod that only is there, on a node."""
    one = pod(name, node_images.EMBEDDED, "sleep infinity", node)
    one["metadata"]["labels"] |= labels or {}
    return one


def endpoints(nodes: ControlPlane, live: Live, *namespaces: str) -> dict[str, Endpoint]:
    """Return all pods by the names that the tests call them, and the node of the operator."""
    found = reach.pods(nodes, *namespaces, NAMESPACE)
    for rank, name in enumerate(("lead", "follower")):
        found[name] = found[live.pods.by_rank()[rank]["metadata"]["name"]]
    [service] = nodes.api.items(f"/api/v1/namespaces/{live.namespace}/pods", labelSelector=SERVICES)
    found["service"] = found[service["metadata"]["name"]]
    for each in nodes.api.items(PODS):
        role = each["spec"]["containers"][0]["name"]
        found[role] = found[each["metadata"]["name"]]
        if role == "operator":
            [node] = [one for one in nodes.nodes if one.name == each["spec"]["nodeName"]]
            found["its node"] = Endpoint(node.pid, node.address)
    return found


CONNECTIONS = [
    *((who, target, BROKER_PORT, REFUSED) for who in OTHERS for target in ("lead", "follower")),
    *((who, "lead", LEAD_API_PORT, REFUSED) for who in OTHERS),
    *((who, "follower", UNNAMED, REFUSED) for who in OTHERS),
    *((who, "service", UNNAMED, REFUSED) for who in OTHERS),
    *((who, "lead", DOCUMENTED, NOBODY) for who in OTHERS),
    *((who, "service", SERVED, OPEN) for who in OTHERS),
    ("follower", "lead", BROKER_PORT, OPEN),
    ("lead", "follower", UNNAMED, NOBODY),
    ("follower", "lead", UNNAMED, NOBODY),
    ("lead", "service", UNNAMED, NOBODY),
    ("service", "follower", UNNAMED, NOBODY),
    ("operator", "lead", LEAD_API_PORT, OPEN),
    ("adapter", "lead", LEAD_API_PORT, OPEN),
    ("operator", "lead", BROKER_PORT, REFUSED),
    ("adapter", "follower", UNNAMED, REFUSED),
    ("scraper", "operator", HEALTH, OPEN),
    ("scraper", "operator", UNNAMED, REFUSED),
    ("scraper", "lead", LEAD_API_PORT, REFUSED),
    *((who, "operator", HEALTH, REFUSED) for who in ("lead", *OTHERS)),
    ("its node", "operator", HEALTH, OPEN),
]


@pytest.mark.parametrize("target", ["lead", "follower", "service", "operator"])
def test_who_reaches_whom(scene: Scene, target: str) -> None:
    expected = {each[:3]: each[3] for each in CONNECTIONS if each[1] == target}
    assert {connection: scene.dial(*connection) for connection in expected} == expected


def test_the_operator_has_its_status_from_the_lead(scene: Scene) -> None:
    assert scene.live.joined(2)["readyBrokers"] == 2


def test_the_adapter_has_its_metrics_from_the_lead(scene: Scene, nodes: ControlPlane) -> None:
    for name in adapters.APIS:
        adapters.wait_available(nodes.api, name)
    path = f"{adapters.V2}/namespaces/{scene.live.namespace}/{CLUSTERS}/mc/flux_nodes_up"
    known(nodes.api, path)
    assert value(nodes.api, path) == "2"


def test_an_autoscaler_has_them_too(scene: Scene) -> None:
    until(lambda: autoscalers.active(scene.live.api, scene.live.namespace) == "True", "its word", SECONDS)


def test_no_probe_of_the_operator_fails(scene: Scene, nodes: ControlPlane) -> None:
    """Its kubelet reaches the port that others do not."""
    found = nodes.api.items(PODS)
    states = [each["status"]["containerStatuses"][0] for each in found]
    assert [(each["ready"], each["restartCount"]) for each in states] == [(True, 0)] * 3


def test_with_bursting_brokers_come_from_anywhere(scene: Scene, nodes: ControlPlane) -> None:
    """Their certificate admits them."""
    flux = {**DOCUMENT["spec"]["flux"], "bursting": {"hostlist": "burst-0"}}  # type: ignore[index]
    with script_pods.space(nodes.api) as space:
        live = Live(nodes.api, space)
        live.create(interactive=True, size=1, flux=flux)
        lead = live.pods.running(0)["status"]["podIP"]
        outsider = scene.endpoints["outsider"]
        answers = [outsider.dial(lead, port) for port in (BROKER_PORT, LEAD_API_PORT)]
        assert answers == [NOBODY, REFUSED]
        live.delete()


def test_a_policy_that_is_deleted_refuses_nobody(scene: Scene, nodes: ControlPlane) -> None:
    """Nobody puts the operator's own back: what it refused is open then, and refused again with it."""
    where = f"{POLICIES.format(NAMESPACE)}/{NAME}"
    policy = nodes.api.get(where)
    question = "outsider", "operator", HEALTH
    nodes.api.delete(where)
    until(lambda: scene.dial(*question) == OPEN, "the port to be open", SECONDS)
    kept = {key: policy["metadata"][key] for key in ("name", "labels", "annotations")}
    nodes.api.create(POLICIES.format(NAMESPACE), {**policy, "metadata": kept})
    until(lambda: scene.dial(*question) == REFUSED, "the port to be closed", SECONDS)


def test_without_their_policy_brokers_are_reached(scene: Scene, nodes: ControlPlane) -> None:
    """So it is what refuses others; the operators, which would put it back, are stopped meanwhile."""
    names = {each["metadata"]["name"] for each in nodes.api.items(PODS)}
    pods = {scene.endpoints[name] for name in names} - {scene.endpoints["adapter"]}
    processes = [each.pid for each in pods]
    question = "outsider", "lead", BROKER_PORT
    assert scene.dial(*question) == REFUSED
    try:
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        nodes.api.delete(f"{POLICIES.format(scene.live.namespace)}/mc-brokers")
        until(lambda: scene.dial(*question) == OPEN, "the port to be open", SECONDS)
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
    until(lambda: scene.dial(*question) == REFUSED, "the operator to put it back", SECONDS)
