"""What an R has: a MiniCluster's own nodes, and those of its slots."""

from __future__ import annotations

from broker_config.formats.jobspec import RequestedResources
from broker_config.formats.resource_set import Node, ResourceSet
from burst.leads.layout import of_resource_set
from burst.leads.slot_ranks import SlotRanks


def resources(**properties: tuple[int, ...]) -> ResourceSet:
    """Four nodes of 4 cores, the last two with 2 GPUs and 8 cores."""
    nodes = [
        Node(
            rank,
            f"n{rank}",
            0xF if rank < 2 else 0xFF,
            0 if rank < 2 else 3,
            frozenset(name for name, ranks in properties.items() if rank in ranks),
        )
        for rank in range(4)
    ]
    return ResourceSet(tuple(nodes), properties)


def test_each_slot_has_its_ranks_and_its_shape() -> None:
    found = of_resource_set(resources(local=(0, 1), far=(2, 3), burst=(2, 3)), ["far", "missing"])
    assert found.slots == {"far": SlotRanks(2, 2, 8, 2)}
    assert found.slots["far"].within("0-3") == {0, 1}
    assert found.slots["far"].encode([1]) == "3"


def test_without_slots_all_nodes_are_the_own_ones() -> None:
    found = of_resource_set(resources(), [])
    assert found.fits_here(RequestedResources(4, 1, 1, 0))
    assert not found.fits_here(RequestedResources(5, 1, 1, 0))


def test_ranks_that_do_not_follow_each_other_are_no_slot() -> None:
    assert of_resource_set(resources(local=(1, 2), odd=(0, 3)), ["odd"]).slots == {}


def test_what_can_run_on_the_own_nodes() -> None:
    found = of_resource_set(resources(local=(0, 1), far=(2, 3)), ["far"])
    assert found.fits_here(RequestedResources(2, 4, 1, 0))
    assert not found.fits_here(RequestedResources(3, 1, 1, 0))
    assert not found.fits_here(RequestedResources(1, 8, 1, 0))
    assert not found.fits_here(RequestedResources(1, 1, 1, 1))
