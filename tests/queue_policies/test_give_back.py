"""Which workers a malleable job best gives back when it shrinks."""

from __future__ import annotations

import pytest

from broker_config.formats.resource_set import Node
from queue_policies.nodes.records import Slot
from queue_policies.placement.give_back import preferred

NODES = tuple(Node(rank, f"mc-{rank}", 0b1111, domains=(0b0011, 0b1100)) for rank in range(2))
NOTHING_FREE = ((0, 0), (0, 0))


def slots(*cores: tuple[int, int]) -> dict[int, Slot]:
    """Workers of one core each, by their ranks and cores."""
    return {worker: Slot(rank, (1 << core, 0)) for worker, (rank, core) in enumerate(cores)}


EVERYWHERE = slots(*((rank, core) for rank in range(2) for core in range(4)))


@pytest.mark.parametrize(
    ("count", "order"),
    [
        pytest.param(2, (7, 6, 1, 5, 4, 3, 2), id="a whole domain"),
        pytest.param(4, (7, 6, 5, 4, 1, 3, 2), id="a whole node"),
        pytest.param(1, (1, 7, 6, 5, 4, 3, 2), id="fewer: of the domain that cannot become free"),
    ],
)
def test_domains_that_become_free_come_first(count: int, order: tuple[int, ...]) -> None:
    """The first worker stays, and so its domain is never free."""
    assert preferred(EVERYWHERE, count, 1, NODES, NOTHING_FREE) == order


def test_what_others_have_does_not_become_free() -> None:
    """Core 3 of rank 1 is another job's: that domain comes last."""
    mine = slots((0, 0), (0, 2), (0, 3), (1, 0), (1, 2))
    free = ((0b0010, 0), (0b0010, 0))
    assert preferred(mine, 1, 1, NODES, free) == (3, 4, 2, 1)
    assert preferred(mine, 2, 1, NODES, free)[:2] == (2, 1)


def test_a_node_whose_domains_are_not_known_is_one() -> None:
    plain = [node._replace(domains=()) for node in NODES]
    assert preferred(EVERYWHERE, 4, 1, plain, NOTHING_FREE)[:4] == (7, 6, 5, 4)


def test_only_the_workers_that_may_leave_are_named() -> None:
    assert preferred(EVERYWHERE, 8, 6, NODES, NOTHING_FREE) == (7, 6)
