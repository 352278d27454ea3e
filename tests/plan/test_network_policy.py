"""The NetworkPolicies, evaluated as a network plug-in does, over a table of connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from minicluster.plan import Site, render

OWN = {"app.kubernetes.io/name": "minicluster", "app.kubernetes.io/instance": "hpc"}
OTHER = {**OWN, "app.kubernetes.io/instance": "other"}
BROKER = {**OWN, "app.kubernetes.io/component": "broker"}
SERVICES = {**OWN, "app.kubernetes.io/component": "services"}
OPERATOR = {"app.kubernetes.io/name": "minicluster-operator"}
ADAPTER = {"app.kubernetes.io/name": "minicluster-metrics-adapter"}
PORT = Site().lead_api_port
SPEC = {
    "containers": [
        {"image": "app", "command": "hostname", "runFlux": True, "ports": [9000]},
        {"image": "web", "name": "web", "ports": [8080]},
    ],
    "services": [{"image": "redis", "name": "redis", "ports": [6379]}],
}


@dataclass(frozen=True)
class Pod:
    labels: dict[str, str] = field(default_factory=dict)
    namespace: str = "science"


def matches(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """A label selector: every label and every expression must match; an empty one matches all."""
    assert set(selector) <= {"matchLabels", "matchExpressions"}
    wanted = selector.get("matchLabels", {}).items() <= labels.items()
    expressions = selector.get("matchExpressions", [])
    assert all(each["operator"] == "In" for each in expressions)
    return wanted and all(labels.get(each["key"]) in each["values"] for each in expressions)


def admits(peer: dict[str, Any], source: Pod, namespace: str) -> bool:
    """A peer without namespaceSelector means the policy's own namespace (NetworkPolicyPeer)."""
    if "namespaceSelector" in peer:
        names = {"kubernetes.io/metadata.name": source.namespace}
        if not matches(peer["namespaceSelector"], names):
            return False
    elif source.namespace != namespace:
        return False
    return matches(peer.get("podSelector", {}), source.labels)


def allowed(policies: list[dict[str, Any]], source: Pod, target: Pod, port: int) -> bool:
    """A pod that no policy selects is open; else one rule of one policy must admit source and port."""
    selecting = [
        policy
        for policy in policies
        if policy["metadata"]["namespace"] == target.namespace
        and matches(policy["spec"]["podSelector"], target.labels)
    ]
    return not selecting or any(
        (not rule.get("from") or any(admits(peer, source, target.namespace) for peer in rule["from"]))
        and (not rule.get("ports") or any(each["port"] == port for each in rule["ports"]))
        for policy in selecting
        for rule in policy["spec"]["ingress"]
    )


@pytest.mark.parametrize(
    ("source", "target", "port", "expected"),
    [
        pytest.param(Pod(BROKER), Pod(BROKER), 8050, True, id="broker to broker"),
        pytest.param(Pod(BROKER), Pod(BROKER), 41234, True, id="MPI on a random port"),
        pytest.param(Pod(SERVICES), Pod(BROKER), 41234, True, id="services to broker"),
        pytest.param(Pod(BROKER), Pod(SERVICES), 5000, True, id="broker to services"),
        pytest.param(Pod({}), Pod(BROKER), 8050, False, id="stranger to broker"),
        pytest.param(Pod({}), Pod(BROKER), PORT, False, id="stranger to the door"),
        pytest.param(Pod(OTHER), Pod(BROKER), 8050, False, id="another MiniCluster to broker"),
        pytest.param(Pod(BROKER, "elsewhere"), Pod(BROKER), 8050, False, id="its double elsewhere"),
        pytest.param(Pod(OPERATOR, "system"), Pod(BROKER), PORT, True, id="operator to the door"),
        pytest.param(Pod(OPERATOR), Pod(BROKER), PORT, False, id="a pod that is labelled as the operator"),
        pytest.param(Pod(OPERATOR, "system"), Pod(BROKER), 8050, False, id="operator to the broker port"),
        pytest.param(Pod(OPERATOR, "system"), Pod(SERVICES), PORT, False, id="operator to services"),
        pytest.param(Pod(ADAPTER, "system"), Pod(BROKER), PORT, True, id="metrics adapter to the door"),
        pytest.param(Pod({}, "elsewhere"), Pod(BROKER), 9000, True, id="anybody to the runner's port"),
        pytest.param(Pod({}), Pod(BROKER), 8080, True, id="anybody to a sidecar's port"),
        pytest.param(Pod({}), Pod(SERVICES), 6379, True, id="anybody to a service's port"),
        pytest.param(Pod({}), Pod(SERVICES), 8080, False, id="a sidecar's port is not the services'"),
        pytest.param(Pod({}), Pod(BROKER), 6379, False, id="a service's port is not the brokers'"),
        pytest.param(Pod({}), Pod(OTHER), 8050, True, id="other pods are not touched"),
    ],
)
def test_connection(make, source, target, port, expected):
    """Each connection is admitted or refused as the table says; the operator is in the namespace system."""
    site = Site(operator_namespace="system")
    policies = [item for item in render(make(SPEC), site) if item["kind"] == "NetworkPolicy"]
    assert allowed(policies, source, target, port) is expected


@pytest.mark.parametrize("labels", [OPERATOR, ADAPTER], ids=["operator", "adapter"])
@pytest.mark.parametrize("site", [Site(), Site(operator_namespace="other")], ids=["no pod", "elsewhere"])
def test_only_the_operators_namespace_reaches_the_lead_api(make, labels, site):
    """An operator outside of the cluster comes from no pod, so that none is admitted."""
    policies = [item for item in render(make(SPEC), site) if item["kind"] == "NetworkPolicy"]
    assert not allowed(policies, Pod(labels, "system"), Pod(BROKER), PORT)


@pytest.mark.parametrize(("port", "expected"), [(PORT, True), (8050, False)], ids=["door", "brokers"])
def test_readers_with_a_certificate_reach_the_lead_api_from_anywhere(make, port, expected):
    """The certificate is what admits them, to metrics alone."""
    items = render(make({**SPEC, "autoscaling": {"tlsSecret": "tls"}}), Site())
    policies = [item for item in items if item["kind"] == "NetworkPolicy"]
    assert allowed(policies, Pod({}, "monitoring"), Pod(BROKER), port) is expected


@pytest.mark.parametrize("bursting", [{}, {"bursting": {}}], ids=["by hand", "managed"])
def test_a_burst_service_reaches_the_leads_whose_bursts_it_manages(make, bursting):
    """As a pod of the operator's namespace, and at the lead API alone."""
    cluster = make({**bursting, "flux": {"bursting": {"clusters": [{"name": "far", "size": 2}]}}})
    items = render(cluster, Site(operator_namespace="system"))
    policies = [item for item in items if item["kind"] == "NetworkPolicy"]
    service = {"app.kubernetes.io/name": "minicluster-burst"}
    assert allowed(policies, Pod(service, "system"), Pod(BROKER), PORT) is bool(bursting)
    assert not allowed(policies, Pod(service, "other"), Pod(BROKER), PORT)


def test_remote_brokers_may_join(make):
    """With bursting, brokers come from outside of the cluster: the certificate admits them."""
    bursting = make({"flux": {"bursting": {"clusters": [{"name": "burst", "size": 2}]}}})
    policies = [item for item in render(bursting, Site()) if item["kind"] == "NetworkPolicy"]
    assert allowed(policies, Pod({}, "elsewhere"), Pod(BROKER), 8050)
