"""The nodes of the Kubernetes cluster, kept small. No I/O.

They are read where brokers are cut by a profile, and only then: how many there are decides over how many the
brokers are spread. No MiniCluster is reconciled for a change of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from minicluster import document
from minicluster.kube_client import objects
from minicluster.plan import NodeReport, NodeTaint
from minicluster.plan.constants import TAINT_CORDONED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.kube_client.objects import Name
    from minicluster.plan.objects.fields import Object

_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
NOBODY: tuple[Name, ...] = ()


class _KnownNode(NamedTuple):
    version: int
    report: NodeReport


class NodeIndex:
    """What the nodes are like, as last reported."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownNode] = {}
        self._is_listed = False

    def reports(self) -> tuple[NodeReport, ...] | None:
        """Return all nodes by name; None: they were not listed yet, or may not be read."""
        if not self._is_listed:
            return None
        return tuple(self._known[name].report for name in sorted(self._known))

    def see(self, _kind: str, item: Object) -> Iterable[Name]:
        """Store a node; an older version of it is passed over."""
        found, known = node_report(item), self._known.get(item["metadata"]["name"])
        version = objects.version(item)
        if known is None or known.version < version:
            self._known[found.name] = _KnownNode(version, found)
        return NOBODY

    def forget(self, _kind: str, item: Object) -> Iterable[Name]:
        """Remove a node that was deleted."""
        self._known.pop(item["metadata"]["name"], None)
        return NOBODY

    def replace_all(
        self, kind: str, items: Iterable[Object], version: int, namespace: str = ""
    ) -> Iterable[Name]:
        """Replace all nodes; they have no namespace."""
        del version, namespace
        self._known.clear()
        for item in items:
            self.see(kind, item)
        self._is_listed = True
        return NOBODY


def node_report(item: Object) -> NodeReport:
    """Return what a Node is like for pods: readiness, labels, taints, allocatable CPUs."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    taints = [
        NodeTaint(each["key"], each.get("value") or "", each["effect"])
        for each in spec.get("taints") or ()
        if each["effect"] in _EFFECTS
    ]
    cordoned = NodeTaint(TAINT_CORDONED, "", "NoSchedule")
    if spec.get("unschedulable") and cordoned not in taints:
        taints.append(cordoned)
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    cores = (status.get("allocatable") or {}).get("cpu", "0")
    return NodeReport(
        name=item["metadata"]["name"],
        ready=conditions.get("Ready") == "True",
        labels=tuple(sorted((item["metadata"].get("labels") or {}).items())),
        taints=tuple(taints),
        cores=math.floor(document.quantity(str(cores))),
    )
