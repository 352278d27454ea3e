"""The provider in memory: its clock, its bill, and what it can be made to do."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from burst.errors import NoCapacity, RetryLater
from burst.lifecycle.records import ResourcePhase
from burst.planning import money
from burst.providers.memory import NODES, Fault
from burst.providers.provider import WantedBurst
from tests.burst.providers.conformance.rigs import OFFER, MemoryRig

BURST = WantedBurst("62dgmfw4gk", "here", 3, "c8", spot=False, until=0.0)


@pytest.fixture
def rig() -> MemoryRig:
    return MemoryRig()


def test_nodes_cost_money_from_their_creation_until_they_are_gone(rig: MemoryRig) -> None:
    nodes, pods = rig.provider.resources(BURST)
    rig.provider.create(nodes, "token", BURST)
    rig.provider.create(pods, "token", BURST)
    assert rig.provider.get(nodes, BURST).phase is ResourcePhase.COMING
    rig.now += 100.0
    assert rig.cloud.bill() == money.cost(OFFER.price, 3, 100.0)
    rig.provider.delete(nodes, BURST)
    rig.now += 1000.0
    assert rig.cloud.bill() == money.cost(OFFER.price, 3, 105.0)


def test_a_listing_that_lags_has_what_was_there(rig: MemoryRig) -> None:
    rig.cloud.lag = 30.0
    nodes, _ = rig.provider.resources(BURST)
    rig.provider.create(nodes, "token", BURST)
    assert rig.provider.owned("here") == []
    rig.now += 30.0
    assert len(rig.provider.owned("here")) == 1
    rig.provider.delete(nodes, BURST)
    rig.now += 10.0
    assert rig.provider.get(nodes, BURST).phase is ResourcePhase.ABSENT
    assert len(rig.provider.owned("here")) == 1
    rig.now += 30.0
    assert rig.provider.owned("here") == []


def test_there_may_be_too_few_machines(rig: MemoryRig) -> None:
    rig.cloud.capacity["c8"] = 2
    nodes, _ = rig.provider.resources(BURST)
    with pytest.raises(NoCapacity, match="there are no 3 nodes of c8 now"):
        rig.provider.create(nodes, "token", BURST)
    assert rig.cloud.there() == []


def test_a_call_fails_before_or_after_it_takes_effect(rig: MemoryRig) -> None:
    nodes, _ = rig.provider.resources(BURST)
    slow = RetryLater("slow down", after=3.0)
    rig.cloud.fail("create", Fault(slow), Fault(slow, takes_effect=True))
    with pytest.raises(RetryLater):
        rig.provider.create(nodes, "token", BURST)
    assert rig.cloud.there() == []
    for answer in (pytest.raises(RetryLater), nullcontext()):
        with answer:
            rig.provider.create(nodes, "token", BURST)
        assert len(rig.cloud.there()) == 1
    assert rig.cloud.calls == ["create"] * 3


def test_an_error_of_its_own_comes_before_a_lost_answer(rig: MemoryRig) -> None:
    rig.cloud.capacity["c8"] = 0
    nodes, _ = rig.provider.resources(BURST)
    rig.cloud.fail("create", Fault(RetryLater("slow down"), takes_effect=True))
    with pytest.raises(NoCapacity):
        rig.provider.create(nodes, "token", BURST)


def test_machines_are_taken_away(rig: MemoryRig) -> None:
    nodes, _ = rig.provider.resources(BURST)
    rig.cloud.broken[NODES] = "quota"
    rig.provider.create(nodes, "token", BURST)
    assert rig.provider.get(nodes, BURST)[1:3] == (ResourcePhase.BROKEN, "quota")
    rig.cloud.take_away(nodes.name)
    assert rig.provider.get(nodes, BURST).phase is ResourcePhase.ABSENT
