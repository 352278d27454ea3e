"""What NetworkPolicies mean, as a rule set of nftables for the pods of one node (networking.k8s.io/v1).

A packet is looked at where its node forwards it, which every packet from or to a pod passes: that of the
sender first, where the sender may send it, then that of the receiver. Services are no concern: kube-proxy has
written the pod's own address into the packet by then. What comes from the node itself is not forwarded, so
that its kubelet always reaches its pods.

An address of the node's pods that no known pod has gets nothing and sends nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Any

from tests.devcluster.policy_objects import Objects, Pod, Policy, selects

TABLE = "network-policies"
# Who is refused is told so at once: it is not that nobody listens, and nobody waits.
REFUSE = "reject with icmpx admin-prohibited"
LAST = 65535
Peer = Mapping[str, Any]
Rule = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Direction:
    """Connections to pods or from pods, and the words for them in policies and in nftables."""

    kind: str
    rules: str
    peers: str
    own: str
    other: str


INGRESS = Direction("Ingress", "ingress", "from", "daddr", "saddr")
EGRESS = Direction("Egress", "egress", "to", "saddr", "daddr")


@dataclass(frozen=True, slots=True)
class NodeAddresses:
    """Where rules are to hold: the addresses of the node's pods, and that of the machine of all nodes.

    The machine is to each node what a node is to its pods: the control plane runs there.
    """

    pods: str
    machine: str


def ruleset(node: NodeAddresses, objects: Objects) -> str:
    """Return the text that replaces the whole table at once."""
    addresses = IPv4Network(node.pods)
    local = sorted(
        (pod for pod in objects.pods if IPv4Address(pod.address) in addresses), key=lambda pod: pod.address
    )
    lines = [f"table inet {TABLE}", f"delete table inet {TABLE}", f"table inet {TABLE} {{"]
    for direction in (EGRESS, INGRESS):
        lines += chains(direction, {pod.address: admitted(pod, direction, objects) for pod in local})
    themselves = elements(f"{pod.address} . {pod.address}" for pod in local)
    hook = [
        "type filter hook forward priority filter; policy accept;",
        "ct state established,related accept",
        "meta nfproto ipv6 drop",  # pods have no such addresses but those of the link
        f"ip saddr {node.machine} accept",
        *([f"ip saddr . ip daddr {themselves} accept"] if local else []),
        f"ip {EGRESS.own} {node.pods} jump {EGRESS.rules}",
        f"ip {INGRESS.own} {node.pods} jump {INGRESS.rules}",
    ]
    return "\n".join([*lines, *chain("forward", hook), "}", ""])


def chains(direction: Direction, rules: Mapping[str, Collection[str] | None]) -> list[str]:
    """Return the chains of a direction: one for all pods, by address, and one for each set of rules."""
    named: dict[tuple[str, ...], str] = {}
    verdicts = []
    for address, lines in rules.items():
        if lines is None:
            verdicts.append(f"{address} : return")
        else:
            name = named.setdefault(tuple(lines), f"{direction.rules}-{len(named)}")
            verdicts.append(f"{address} : goto {name}")
    choice = [f"ip {direction.own} vmap {elements(verdicts)}"] if verdicts else []
    text = [line for lines, name in named.items() for line in chain(name, [*lines, REFUSE])]
    return [*text, *chain(direction.rules, [*choice, REFUSE])]


def chain(name: str, rules: Iterable[str]) -> list[str]:
    """Return a chain."""
    return [f"\tchain {name} {{", *(f"\t\t{rule}" for rule in rules), "\t}"]


def admitted(pod: Pod, direction: Direction, objects: Objects) -> Collection[str] | None:
    """Return a rule for each connection that a pod may have, None where no policy selects it."""
    selecting = [
        policy
        for policy in objects.policies
        if policy.namespace == pod.namespace
        and direction.kind in policy.kinds
        and selects(policy.spec.get("podSelector"), pod.labels)
    ]
    if not selecting:
        return None
    return sorted(
        {
            f"{match} return".strip()
            for policy in selecting
            for rule in policy.spec.get(direction.rules) or ()
            for match in matches(rule, direction, policy, pod, objects)
        }
    )


def matches(rule: Rule, direction: Direction, policy: Policy, pod: Pod, objects: Objects) -> Iterator[str]:
    """Yield what in a packet a rule of a policy goes by: any peer with any port."""
    peers: Sequence[Peer] = rule.get(direction.peers) or ()
    ports: Sequence[Rule] = rule.get("ports") or ()
    pods = objects.pods if not peers else [one for peer in peers for one in chosen(peer, policy, objects)]
    targets = [pod] if direction is INGRESS else pods
    blocks = [block(peer["ipBlock"], direction) for peer in peers if peer.get("ipBlock")]
    ends = [*filter(None, blocks), *among(direction.other, pods)] if peers else [""]
    numbered = [port for port in ports if not isinstance(port.get("port"), str)]
    contents = port_matches(map(bounds, numbered)) if ports else [""]
    yield from (f"{end} {content}".strip() for end in ends for content in contents)
    for port in ports:
        if isinstance(port.get("port"), str):
            for number, owners in by_number(port, targets).items():
                content = f"{protocol(port)} dport {number}"
                where = ends if direction is INGRESS else among(direction.other, owners)
                yield from (f"{end} {content}".strip() for end in where)


def chosen(peer: Peer, policy: Policy, objects: Objects) -> Iterator[Pod]:
    """Yield the pods that a peer of a rule names by selectors."""
    if peer.get("ipBlock"):
        return
    spaces = {policy.namespace}
    if peer.get("namespaceSelector") is not None:
        selector = peer["namespaceSelector"]
        spaces = {name for name, labels in objects.namespaces.items() if selects(selector, labels)}
    for pod in objects.pods:
        if pod.namespace in spaces and selects(peer.get("podSelector"), pod.labels):
            yield pod


def block(given: Mapping[str, Any], direction: Direction) -> str:
    """Return the match of addresses but some of them; nothing for IPv6, which no pod has."""
    if ip_network(given["cidr"], strict=False).version != 4:
        return ""
    match = f"ip {direction.other} {given['cidr']}"
    excepted = given.get("except") or ()
    return f"{match} ip {direction.other} != {elements(sorted(excepted))}" if excepted else match


def among(word: str, pods: Iterable[Pod]) -> list[str]:
    """Return the match of pods' addresses, in a list that is empty where there are no pods."""
    addresses = sorted({pod.address for pod in pods})
    return [f"ip {word} {elements(addresses)}"] if addresses else []


def by_number(port: Rule, pods: Iterable[Pod]) -> dict[int, list[Pod]]:
    """Return the pods that have a named port, by its number."""
    found: dict[int, list[Pod]] = {}
    for pod in pods:
        for name, transport, number in pod.ports:
            if (name, transport) == (port["port"], protocol(port)):
                found.setdefault(number, []).append(pod)
    return found


def protocol(port: Rule) -> str:
    """Return a port's protocol as nftables writes it."""
    return str(port.get("protocol") or "TCP").lower()


def bounds(port: Rule) -> tuple[str, int, int]:
    """Return the protocol, the first and the last of the ports that are meant."""
    first = port.get("port")
    if first is None:
        return protocol(port), 0, LAST
    return protocol(port), first, port.get("endPort") or first


def port_matches(ranges: Iterable[tuple[str, int, int]]) -> list[str]:
    """Return one match for each protocol; ranges that overlap or touch become one, or nft refuses them."""
    merged: dict[str, list[list[int]]] = {}
    for transport, first, last in sorted(ranges):
        found = merged.setdefault(transport, [])
        if found and first <= found[-1][1] + 1:
            found[-1][1] = max(found[-1][1], last)
        else:
            found.append([first, last])
    return [
        f"meta l4proto {transport}"
        if found == [[0, LAST]]
        else f"{transport} dport {elements(span(*each) for each in found)}"
        for transport, found in merged.items()
    ]


def span(first: int, last: int) -> str:
    """Return the ports from the first to the last."""
    return f"{first}-{last}" if last > first else str(first)


def elements(words: Iterable[str]) -> str:
    """Return a set without a name."""
    return f"{{ {', '.join(words)} }}"
