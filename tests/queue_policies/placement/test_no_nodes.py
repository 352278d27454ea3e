"""Clusters that have no node for a job: none at all, none that is up, none with a core."""

from __future__ import annotations

import pytest

from broker_config.formats.constraints import matches
from broker_config.formats.resource_set import Node
from queue_policies.nodes.feasibility import infeasible
from queue_policies.nodes.pool import Pool
from queue_policies.placement.plugins import load, registry
from tests.queue_policies.placement.clusters import node, request

ASKED = {
    "as it is": request(6),
    "workers": request(6, "memory", workers=3),
    "more workers than slots": request(2, "cpu", workers=6),
    "messages": request(6, "network"),
    "io": request(6, "io"),
    "nodes": request(2, nodes=2, workers=4),
}


@pytest.mark.parametrize("placement", sorted(registry().classes))
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
class TestNoNodes:
    """No placement has a defect on one of them."""

    @pytest.mark.parametrize("nodes", [[], [Node(0, "node0", 0)]], ids=["none", "no cores"])
    def test_a_job_is_refused(self, placement: str, asked: object, nodes: list[Node]) -> None:
        """With how many slots or nodes there are."""
        found = Pool(nodes, matches, load(placement, {}))
        for each in nodes:
            found.mark(each.rank, up=True)
        assert found.alloc(1, asked) is None  # type: ignore[arg-type] # a request of nodes
        why = infeasible(found, asked)  # type: ignore[arg-type]
        assert why is not None
        assert why.startswith("unsatisfiable request: need ")
        assert "only 0 " in why

    def test_a_job_waits_where_none_is_up(self, placement: str, asked: object) -> None:
        """It could run once they are."""
        nodes = [node(rank, (4, 4)) for rank in range(2)]
        found = Pool(nodes, matches, load(placement, {}))
        assert found.alloc(1, asked) is None  # type: ignore[arg-type]
        assert infeasible(found, asked) is None  # type: ignore[arg-type]
        for each in nodes:
            found.mark(each.rank, up=True)
        assert found.alloc(1, asked) is not None  # type: ignore[arg-type]
