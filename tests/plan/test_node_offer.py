"""Which nodes are on offer to the broker pods of a MiniCluster."""

from __future__ import annotations

import pytest

from minicluster.plan import NodeReport, NodeTaint
from minicluster.plan.brokers.node_offer import offered

PLAIN = NodeReport("plain", ready=True, labels=(("kubernetes.io/arch", "amd64"), ("zone", "a")))
TAINT = NodeTaint("gpu", "yes", "NoSchedule")
CORDON = NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def node(*taints: NodeTaint, **labels: str) -> NodeReport:
    return NodeReport("other", ready=True, labels=tuple(labels.items()), taints=taints)


CASES = {
    "any": ({}, PLAIN, True),
    "not ready": ({}, NodeReport("away", ready=False), False),
    "selector": ({"pod": {"nodeSelector": {"zone": "a"}}}, PLAIN, True),
    "another value": ({"pod": {"nodeSelector": {"zone": "b"}}}, PLAIN, False),
    "without the label": ({"pod": {"nodeSelector": {"rack": "1"}}}, PLAIN, False),
    "architecture of Flux": ({"flux": {"arch": "x86_64"}}, PLAIN, True),
    "another architecture": ({"flux": {"arch": "aarch64"}}, PLAIN, False),
    "affinity": ({"pod": {"nodeAffinity": {"zone": ["b", "a"]}}}, PLAIN, True),
    "other affinity": ({"pod": {"nodeAffinity": {"zone": ["b"]}}}, PLAIN, False),
    "taint": ({}, node(TAINT), False),
    "tolerated": ({"pod": {"tolerations": [{"key": "gpu", "value": "yes"}]}}, node(TAINT), True),
    "with another value": ({"pod": {"tolerations": [{"key": "gpu", "value": "no"}]}}, node(TAINT), False),
    "by its key": ({"pod": {"tolerations": [{"key": "gpu", "operator": "Exists"}]}}, node(TAINT), True),
    "another key": ({"pod": {"tolerations": [{"key": "x", "operator": "Exists"}]}}, node(TAINT), False),
    "all": ({"pod": {"tolerations": [{"operator": "Exists"}]}}, node(TAINT, CORDON), True),
    "another effect": (
        {"pod": {"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]}},
        node(TAINT),
        False,
    ),
    "one of two": ({"pod": {"tolerations": [{"key": "gpu", "value": "yes"}]}}, node(TAINT, CORDON), False),
}


@pytest.mark.parametrize(("wanted", "one", "admitted"), CASES.values(), ids=CASES)
def test_which_nodes_are_on_offer(make, wanted, one, admitted):
    assert (offered(make(wanted), [one]) == (one,)) is admitted
