"""What of pods, namespaces and NetworkPolicies decides who may connect to whom; the rest is left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Item = Mapping[str, Any]
Labels = Mapping[str, str]
ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod, its address, and those of its ports that have a name: name, protocol, number."""

    namespace: str
    labels: Labels
    address: str
    ports: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """A NetworkPolicy; `kinds` are Ingress, Egress or both."""

    namespace: str
    kinds: tuple[str, ...]
    spec: Item


@dataclass(frozen=True, slots=True)
class Objects:
    """All that there is at one moment; namespaces are their labels by name."""

    pods: Sequence[Pod]
    namespaces: Mapping[str, Labels]
    policies: Sequence[Policy]


def pod(item: Item) -> Pod | None:
    """Return a pod at the address in its status, if it has one there yet.

    None for one that never will have one of its own, or no longer: it is on its node's network, or has ended.
    """
    status, spec, metadata = item.get("status") or {}, item["spec"], item["metadata"]
    if status.get("phase") in ENDED or spec.get("hostNetwork"):
        return None
    labels = metadata.get("labels") or {}
    return Pod(metadata["namespace"], labels, status.get("podIP") or "", tuple(named_ports(spec)))


def named_ports(spec: Item) -> Iterator[tuple[str, str, int]]:
    """Yield the named ports of what runs as long as the pod does."""
    beside = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    for container in (*(spec.get("containers") or ()), *beside):
        for port in container.get("ports") or ():
            if port.get("name"):
                yield port["name"], str(port.get("protocol") or "TCP").lower(), port["containerPort"]


def policy(item: Item) -> Policy:
    """Return a policy. Without policyTypes it is of ingress, and of egress if it has rules for that."""
    spec = item.get("spec") or {}
    kinds = spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    return Policy(item["metadata"]["namespace"], tuple(kinds), spec)


def selects(selector: Item | None, labels: Labels) -> bool:
    """Return whether a label selector matches; one that is empty, or not there, matches all."""
    wanted = (selector or {}).get("matchLabels") or {}
    expressions = (selector or {}).get("matchExpressions") or ()
    return wanted.items() <= labels.items() and all(holds(each, labels) for each in expressions)


def holds(expression: Item, labels: Labels) -> bool:
    """Return whether one expression of a label selector holds; NotIn does where the label is missing."""
    key, values = expression["key"], expression.get("values") or ()
    return {
        "In": key in labels and labels[key] in values,
        "NotIn": key not in labels or labels[key] not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }[expression["operator"]]
