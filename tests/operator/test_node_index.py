"""What the operator keeps of nodes."""

from typing import Any

import pytest

from minicluster.operator.node_index import NodeIndex, node_report
from minicluster.plan import NodeReport, NodeTaint


def node(name: str = "n", version: int = 1, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": str(version), "labels": more.pop("labels", {})}
    status = {"conditions": [{"type": "Ready", "status": more.pop("ready", "True")}]}
    return {"metadata": metadata, "spec": more, "status": status | {"allocatable": {"cpu": "7910m"}}}


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
CORDON = NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule")
CASES = {
    "ready": (node(labels={"b": "2", "a": "1"}), NodeReport("n", True, (("a", "1"), ("b", "2")), (), 7)),
    "not known to be": (node(ready="Unknown"), NodeReport("n", False, cores=7)),
    "nothing known": ({"metadata": {"name": "n"}}, NodeReport("n", False)),
    "tainted": (node(taints=[TAINT]), NodeReport("n", True, taints=(NodeTaint(*TAINT.values()),), cores=7)),
    "only rather not": (
        node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]),
        NodeReport("n", True, cores=7),
    ),
    "cordoned": (node(unschedulable=True), NodeReport("n", True, taints=(CORDON,), cores=7)),
    "cordoned with its taint": (
        node(unschedulable=True, taints=[{"key": CORDON.key, "effect": "NoSchedule"}]),
        NodeReport("n", True, taints=(CORDON,), cores=7),
    ),
}


@pytest.mark.parametrize(("item", "expected"), CASES.values(), ids=CASES)
def test_what_a_node_is_like(item: dict[str, Any], expected: NodeReport) -> None:
    assert node_report(item) == expected


def test_nodes_are_not_known_before_they_are_listed() -> None:
    index = NodeIndex()
    index.see("Node", node())
    assert index.reports() is None
    index.replace_all("Node", [node("b"), node("a")], 5)
    assert [each.name for each in index.reports() or ()] == ["a", "b"]


def test_the_newest_counts_until_it_is_gone() -> None:
    index = NodeIndex()
    index.replace_all("Node", [node(version=4)], 5)
    index.see("Node", node(version=6, ready="False"))
    index.see("Node", node(version=5))
    assert [each.ready for each in index.reports() or ()] == [False]
    index.forget("Node", node(version=7))
    assert index.reports() == ()


def test_a_change_of_nodes_concerns_no_minicluster() -> None:
    index = NodeIndex()
    assert [
        *index.see("Node", node()),
        *index.forget("Node", node()),
        *index.replace_all("Node", [], 1),
    ] == []
