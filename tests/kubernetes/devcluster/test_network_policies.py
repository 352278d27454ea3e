"""What NetworkPolicies mean: rule sets are loaded into a network, and connections are tried in it."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.devcluster import network_policies, policy_objects
from tests.devcluster.policy_objects import Objects, Policy
from tests.kubernetes.devcluster import policy_rig
from tests.kubernetes.devcluster.policy_rig import NAMESPACES, NODE_ADDRESSES, PODS, Rig
from tests.kubernetes.reach import OPEN, REFUSED

CLIENT = {"podSelector": {"matchLabels": {"app": "client"}}}
FAR = {"podSelector": {"matchLabels": {"app": "far"}}}
BLUE = {"namespaceSelector": {"matchLabels": {"team": "blue"}}}
WEB = [{"port": "web"}]


@pytest.fixture(scope="module")
def rig(node_tools: None) -> Iterator[Rig]:
    """Networks, where this machine can have them."""
    with policy_rig.rig() as found:
        yield found


def policy(kinds: str = "Ingress", app: str = "server", namespace: str = "one", **rules: Any) -> Policy:
    """Return a policy for the pods of an app, as the API server gives it."""
    spec = {
        "podSelector": {"matchLabels": {"app": app}} if app else {},
        "policyTypes": kinds.split(),
        **rules,
    }
    return policy_objects.policy({"metadata": {"namespace": namespace}, "spec": spec})


def from_(*peers: dict[str, Any], ports: list[dict[str, Any]] | None = None) -> Policy:
    """Return a policy for the server with one rule for what comes in."""
    return policy(ingress=[rule("from", peers, ports)])


def to(*peers: dict[str, Any], ports: list[dict[str, Any]] | None = None) -> Policy:
    """Return a policy for the client with one rule for what goes out."""
    return policy("Egress", "client", egress=[rule("to", peers, ports)])


def rule(end: str, peers: Iterable[dict[str, Any]], ports: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Return a rule; without ports it is of all."""
    return {end: list(peers), **({"ports": ports} if ports else {})}


def expression(operator: str, *values: str) -> dict[str, Any]:
    """Return a peer by one expression about the label `tier`, which only the client has."""
    found = {"key": "tier", "operator": operator, **({"values": list(values)} if values else {})}
    return {"podSelector": {"matchExpressions": [found]}}


def block(cidr: str, *excepted: str) -> dict[str, Any]:
    """Return a peer by addresses."""
    return {"ipBlock": {"cidr": cidr, **({"except": list(excepted)} if excepted else {})}}


NEAR, BEYOND, OUTSIDE = "client>server:8080", "far>server:8080", "outsider>server:8080"
# By meaning: the policies, the connections that stand, those that are refused.
CASES: dict[str, tuple[list[Policy], str, str]] = {
    "without a policy all is open": ([], f"{NEAR} {BEYOND} {OUTSIDE} server>client:80", ""),
    "no rule admits nothing": ([policy()], "server>client:80", f"{NEAR} {BEYOND} {OUTSIDE}"),
    "an empty rule admits all": ([policy(ingress=[{}])], f"{NEAR} {BEYOND} {OUTSIDE}", ""),
    "an empty from admits all": ([policy(ingress=[{"from": []}])], f"{NEAR} {OUTSIDE}", ""),
    "an empty podSelector selects all of the namespace": (
        [policy(app="")],
        "client>outsider:80 server>outsider:80",
        f"{NEAR} {BEYOND} server>client:80",
    ),
    "a policy selects in its own namespace": ([policy(namespace="two")], NEAR, ""),
    "labels select peers of the same namespace": ([from_(CLIENT)], NEAR, f"{OUTSIDE} {BEYOND}"),
    "an empty peer selector means the whole namespace": (
        [from_({"podSelector": {}})],
        f"{NEAR} {BEYOND}",
        OUTSIDE,
    ),
    "a namespace selector means all pods there": ([from_(BLUE)], OUTSIDE, f"{NEAR} {BEYOND}"),
    "an empty namespace selector means all namespaces": (
        [from_({"namespaceSelector": {}})],
        f"{NEAR} {OUTSIDE}",
        "",
    ),
    "both selectors of one peer must match": (
        [from_({"namespaceSelector": {}, **CLIENT})],
        f"{NEAR} {OUTSIDE}",
        BEYOND,
    ),
    "one of two peers is enough": ([from_(BLUE, FAR)], f"{OUTSIDE} {BEYOND}", NEAR),
    "In": ([from_(expression("In", "front", "back"))], NEAR, BEYOND),
    "NotIn": ([from_(expression("NotIn", "front"))], BEYOND, NEAR),
    "Exists": ([from_(expression("Exists"))], NEAR, BEYOND),
    "DoesNotExist": ([from_(expression("DoesNotExist"))], BEYOND, NEAR),
    "a block of addresses": ([from_(block("10.99.1.0/24"))], f"{NEAR} {OUTSIDE}", BEYOND),
    "but some of them": (
        [from_(block("10.99.0.0/16", "10.99.1.2/32", "10.99.2.0/24"))],
        OUTSIDE,
        f"{NEAR} {BEYOND}",
    ),
    "a block of IPv6 admits nobody here": ([from_(block("::/0"))], "", NEAR),
    "a port": ([from_(ports=[{"port": 8080}])], NEAR, "client>server:80 client>server:8080/udp"),
    "ports up to endPort": (
        [from_(ports=[{"port": 8080, "endPort": 8085}])],
        f"{NEAR} client>server:8085",
        "client>server:9000 client>server:80",
    ),
    "ranges that overlap": (
        [from_(ports=[{"port": 8080, "endPort": 9000}, {"port": 8085}])],
        f"{NEAR} client>server:8085 client>server:9000",
        "client>server:80",
    ),
    "a protocol without a port": (
        [from_(ports=[{"protocol": "UDP"}])],
        "client>server:8080/udp",
        NEAR,
    ),
    "a port of UDP": (
        [from_(ports=[{"port": 8080, "protocol": "UDP"}])],
        "client>server:8080/udp",
        NEAR,
    ),
    "a named port is the receiver's": ([from_(ports=WEB)], NEAR, "client>server:9000"),
    "a named port that it does not have": ([from_(ports=[{"port": "other"}])], "", NEAR),
    "a peer and a port": (
        [from_(CLIENT, ports=[{"port": 8080}])],
        NEAR,
        f"client>server:80 {OUTSIDE}",
    ),
    "policies add up": ([from_(CLIENT), from_(BLUE), policy()], f"{NEAR} {OUTSIDE}", BEYOND),
    "no rule lets nothing out": (
        [policy("Egress", "client")],
        f"{OUTSIDE} server>client:80",
        f"{NEAR} client>far:80 client>outsider:80",
    ),
    "an empty rule lets all out": ([policy("Egress", "client", egress=[{}])], f"{NEAR} client>far:80", ""),
    "a peer of what goes out": ([to(FAR)], "client>far:80", NEAR),
    "a block of what goes out": ([to(block("10.99.2.0/24"))], "client>far:80", NEAR),
    "a port of what goes out": ([to(ports=[{"port": 80}])], "client>far:80 client>server:80", NEAR),
    "a named port of what goes out is each receiver's": (
        [to(ports=WEB)],
        f"{NEAR} client>far:9000",
        "client>server:9000 client>far:8080",
    ),
    "a named port of some receivers": (
        [to(FAR, ports=WEB)],
        "client>far:9000",
        f"{NEAR} client>far:8080",
    ),
    "both ends must agree": ([to(FAR), from_(CLIENT)], "client>far:80", f"{NEAR} {BEYOND}"),
    "both ends agree": (
        [to({"podSelector": {}}), from_(CLIENT), policy("Ingress Egress", "outsider", "two")],
        NEAR,
        BEYOND,
    ),
    "the node reaches its pods": ([policy("Ingress Egress", "")], "node>server:8080", NEAR),
    "the machine reaches all pods": ([policy("Ingress Egress", "")], "machine>server:8080", NEAR),
}


@pytest.mark.parametrize(("policies", "admitted", "refused"), CASES.values(), ids=CASES)
def test_who_may_connect(rig: Rig, policies: list[Policy], admitted: str, refused: str) -> None:
    rig.load(policies)
    expected = dict.fromkeys(admitted.split(), True) | dict.fromkeys(refused.split(), False)
    assert {connection: rig.dial(connection) for connection in expected} == expected


@pytest.mark.parametrize("connection", [NEAR, BEYOND, "server>client:80", "server>far:80"])
def test_a_pod_that_is_not_known_neither_receives_nor_sends(rig: Rig, connection: str) -> None:
    rig.load([])
    assert rig.dial(connection)
    rig.load([], left_out="server")
    assert not rig.dial(connection)


def test_a_pod_reaches_itself_by_a_service(rig: Rig) -> None:
    """The way back to it is through the node, and no policy forbids that."""
    rig.load([policy("Ingress Egress")])
    assert rig.ask("server", f"tcp {policy_rig.SERVICE} 8080") == OPEN
    assert rig.ask("client", f"tcp {policy_rig.SERVICE} 8080") == REFUSED


def test_pods_do_not_reach_each_other_by_the_addresses_of_the_link() -> None:
    """Those of IPv6, which the network gives to all that is connected to it."""
    assert "meta nfproto ipv6 drop" in network_policies.ruleset(NODE_ADDRESSES, Objects([], {}, []))


def test_a_reply_may_be_that_nobody_listens(rig: Rig) -> None:
    """It is of another protocol, and the client admits nothing."""
    rig.load([policy(app="client")])
    assert rig.ask("client", f"udp {PODS['server'].address} 9000") == "ECONNREFUSED"


def test_every_protocol_has_its_ports() -> None:
    """Whether or not this machine can send it."""
    ports = [{"port": 7, "protocol": "SCTP"}, {"port": 9, "protocol": "TCP"}]
    objects = Objects(list(PODS.values()), NAMESPACES, [from_(ports=ports)])
    text = network_policies.ruleset(NODE_ADDRESSES, objects)
    assert "\t\tsctp dport { 7 } return\n\t\ttcp dport { 9 } return\n" in text


ITEM: dict[str, Any] = {
    "metadata": {"namespace": "one", "labels": {"app": "server"}},
    "spec": {
        "containers": [
            {"name": "main", "ports": [{"name": "web", "containerPort": 8080}, {"containerPort": 1}]}
        ]
    },
    "status": {"phase": "Running", "podIP": "10.99.1.3"},
}


def test_a_pod_is_known_by_address_labels_and_named_ports() -> None:
    assert policy_objects.pod(ITEM) == PODS["server"]


@pytest.mark.parametrize(
    "changed",
    [
        {"spec": {**ITEM["spec"], "hostNetwork": True}},
        {"status": {**ITEM["status"], "phase": "Succeeded"}},
        {"status": {**ITEM["status"], "phase": "Failed"}},
    ],
    ids=["on the node's network", "succeeded", "failed"],
)
def test_a_pod_without_an_address_of_its_own_is_none(changed: dict[str, Any]) -> None:
    assert policy_objects.pod({**ITEM, **changed}) is None


def test_a_sidecar_has_named_ports_too() -> None:
    ports = [{"name": "web", "containerPort": 8080, "protocol": "UDP"}]
    before = {"name": "before", "ports": ports}
    spec = {"containers": [], "initContainers": [before, {**before, "restartPolicy": "Always"}]}
    assert list(policy_objects.named_ports(spec)) == [("web", "udp", 8080)]


@pytest.mark.parametrize(
    ("spec", "kinds"),
    [
        ({}, ("Ingress",)),
        ({"egress": [{}]}, ("Ingress", "Egress")),
        ({"policyTypes": ["Egress"]}, ("Egress",)),
    ],
)
def test_what_a_policy_is_of(spec: dict[str, Any], kinds: tuple[str, ...]) -> None:
    """Of ingress where it says nothing; of egress too if it has rules for it."""
    assert policy_objects.policy({"metadata": {"namespace": "one"}, "spec": spec}).kinds == kinds
