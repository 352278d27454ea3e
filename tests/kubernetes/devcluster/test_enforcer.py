"""The enforcer as a process: its table in the network of a node that has no kubelet, on a control plane."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devcluster import (
    ControlPlane,
    network,
    node_config,
    pod_address,
    rack,
    until,
)
from tests.devcluster.network import ENFORCER, Network, call, inside, program
from tests.devcluster.network_policies import TABLE
from tests.kubernetes import adapters
from tests.kubernetes.adapters import SPEC

NETWORK = Network(99)
NODE = "node-1"
HERE, ELSEWHERE = "10.199.1.7", "10.199.2.7"
POLICY = {
    "metadata": {"name": "none"},
    "spec": {"podSelector": {"matchLabels": {"app": "server"}}, "policyTypes": ["Ingress"]},
}
POLICIES = "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies"


@pytest.fixture
def enforced(plane: ControlPlane, node_tools: None) -> Iterator[ControlPlane]:
    """A control plane with an enforcer, and with a node's network."""
    for path, document in node_config.objects(NETWORK):
        if "enforcer" in path:
            plane.api.apply(path, {**document, "metadata": rack.named(path)})
    network.hold(plane.guardian, NODE, ["--net"])
    rack.start_enforcer(plane.installation, NETWORK)
    yield plane
    for name in (ENFORCER, NODE):
        plane.guardian.stop(name)


def socket_of(plane: ControlPlane) -> Path:
    """Return where the enforcer listens."""
    return plane.directory / ENFORCER


def rules(plane: ControlPlane) -> str:
    """Return the node's table, with handles, which another would not share; nothing before there is one."""
    entered = inside(plane.guardian.pids()[NODE])
    listed = json.loads(call([*entered, program("nft"), "--json", "list", "tables"]))["nftables"]
    there = any(each.get("table", {}).get("name") == TABLE for each in listed)
    return call([*entered, program("nft"), "-a", "list", "table", "inet", TABLE]) if there else ""


def announce(plane: ControlPlane, uid: str, address: str) -> None:
    """Tell the enforcer an address, as the network plug-in does; returns when it has answered."""
    pod_address.report(str(socket_of(plane)), {"uid": uid, "address": address})


def create(plane: ControlPlane, namespace: str, name: str) -> str:
    """Create a pod that no kubelet runs; return its uid."""
    body = {"metadata": {"name": name, "labels": {"app": name}}, "spec": SPEC}
    return str(plane.api.create(f"/api/v1/namespaces/{namespace}/pods", body)["metadata"]["uid"])


def test_a_node_refuses_for_its_own_pods_at_the_addresses_in_their_status(
    enforced: ControlPlane, namespace: str
) -> None:
    for name, address in (("server", HERE), ("client", ELSEWHERE)):
        create(enforced, namespace, name)
        adapters.run_pod_at(enforced.api, namespace, name, address)
    until(lambda: f"{HERE} : return" in rules(enforced), "the pod to be known")
    assert ELSEWHERE not in rules(enforced)
    enforced.api.create(POLICIES.format(namespace), POLICY)
    until(lambda: f"{HERE} : goto ingress-0" in rules(enforced), "the policy to be enforced")
    enforced.api.delete(f"{POLICIES.format(namespace)}/none")
    until(lambda: f"{HERE} : goto" not in rules(enforced), "the policy to be gone")
    ended = {"status": {"phase": "Succeeded"}}
    enforced.api.merge(f"/api/v1/namespaces/{namespace}/pods/server/status", ended)
    until(lambda: HERE not in rules(enforced), "the pod to be gone")


def test_who_announces_an_address_is_answered_when_its_rules_stand(
    enforced: ControlPlane, namespace: str
) -> None:
    enforced.api.create(POLICIES.format(namespace), POLICY)
    uid = create(enforced, namespace, "server")
    until(lambda: TABLE in rules(enforced), "the first table")
    announce(enforced, uid, HERE)
    assert f"{HERE} : goto ingress-0" in rules(enforced)


def test_a_node_that_begins_anew_gets_its_table_with_its_first_pod(
    enforced: ControlPlane, namespace: str
) -> None:
    until(lambda: TABLE in rules(enforced), "the first table")
    enforced.guardian.stop(NODE)
    network.hold(enforced.guardian, NODE, ["--net"])
    # If anything else has changed meanwhile, the enforcer has found it already.
    announce(enforced, secrets.token_hex(4), HERE)
    assert TABLE in rules(enforced)


def test_a_table_that_would_be_the_same_is_left_alone(enforced: ControlPlane, namespace: str) -> None:
    create(enforced, namespace, "server")
    adapters.run_pod_at(enforced.api, namespace, "server", HERE)
    until(lambda: HERE in rules(enforced), "the pod to be known")
    before = rules(enforced)
    announce(enforced, secrets.token_hex(4), ELSEWHERE)
    assert rules(enforced) == before
