"""Pods on nodes that are made for them: both sides are one burst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from burst.errors import AccessDenied, RetryLater
from burst.lifecycle.records import ResourceKey, ResourcePhase, ResourceReport
from burst.planning.records import NodeShape, Offer
from burst.providers.memory import Fault, MemoryCloud, MemoryProvider
from burst.providers.node_pools.pools import pool_key
from burst.providers.node_pools.provider import NodePoolProvider
from burst.providers.provider import WantedBurst
from burst.rehearsal.pods import RehearsedPods

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WANTED = WantedBurst("62dgmfw4gk", "here", 2, "c8", spot=False, until=4e9)
POOL = ResourceKey("node-pool", "mcb-62dgmfw4gk-nodes", 2)


class MemoryPools:
    """Pools in memory."""

    kind = "node-pool"

    def __init__(self, cloud: MemoryCloud) -> None:
        self.made = MemoryProvider(cloud, [Offer("pools", "c8", NodeShape(8), price=1_000_000)], "pools")
        self.name, self.location = self.made.name, self.made.location
        self.wrong: Iterable[str] | Exception = ()

    def offers(self) -> Sequence[Offer]:
        return self.made.offers()

    def create(self, wanted: WantedBurst, token: str) -> None:
        self.made.create(self._key(wanted), token, wanted)

    def get(self, wanted: WantedBurst) -> ResourceReport:
        return self.made.get(self._key(wanted), wanted)

    def delete(self, wanted: WantedBurst) -> None:
        self.made.delete(self._key(wanted), wanted)

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        return self.made.owned(installation)

    def problems(self) -> Iterable[str]:
        if isinstance(self.wrong, Exception):
            raise self.wrong
        return self.wrong

    def _key(self, wanted: WantedBurst) -> ResourceKey:
        return pool_key(self.kind, wanted.label, wanted.nodes)


class Both:
    """The provider, and the clouds of its two sides."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.nodes, self.there = MemoryCloud(lambda: self.now), MemoryCloud(lambda: self.now)
        self.pools = MemoryPools(self.nodes)
        self.provider = NodePoolProvider(self.pools, RehearsedPods(self.there))

    @property
    def keys(self) -> Sequence[ResourceKey]:
        return self.provider.resources(WANTED)

    def make(self) -> None:
        for key in self.keys:
            self.provider.create(key, "token", WANTED)
            self.now += 10


@pytest.fixture
def both() -> Both:
    return Both()


def test_the_pool_is_first_and_alone_costs_money(both: Both) -> None:
    pods = ResourceKey("workers", "mcb-62dgmfw4gk-pods", 0)
    assert both.keys == (POOL, pods)


def test_each_side_makes_its_own(both: Both) -> None:
    both.provider.create(both.keys[0], "token", WANTED)
    assert (len(both.nodes.there()), len(both.there.there())) == (1, 0)
    both.provider.create(both.keys[1], "token", WANTED)
    assert (len(both.nodes.there()), len(both.there.there())) == (1, 1)


def test_pods_have_as_many_brokers_as_there_are_nodes_and_cost_nothing(both: Both) -> None:
    both.make()
    [pods] = both.there.there()
    assert pods.key.nodes == 2
    status = both.provider.get(both.keys[1], WANTED)
    assert (status.key, status.phase, status.nodes) == (both.keys[1], ResourcePhase.READY, 0)
    assert both.nodes.bill() > 0 == both.there.bill()


def test_the_listing_has_both_sides(both: Both) -> None:
    both.make()
    assert sorted(each.key for each in both.provider.owned("here")) == sorted(both.keys)
    assert list(both.provider.owned("elsewhere")) == []


def test_each_side_is_deleted_by_itself(both: Both) -> None:
    both.make()
    both.provider.delete(both.keys[1], WANTED)
    both.now += 10
    assert (len(both.nodes.there()), len(both.there.there())) == (1, 0)
    both.provider.delete(both.keys[0], WANTED)
    both.now += 10
    assert both.nodes.there() == []


def test_a_side_that_cannot_be_listed_is_no_empty_one(both: Both) -> None:
    both.make()
    both.there.fail("list", Fault(AccessDenied("its credentials have expired")))
    with pytest.raises(AccessDenied):
        both.provider.owned("here")


def test_problems_of_both_sides_are_found(both: Both) -> None:
    both.pools.wrong = ["there is no cluster far"]
    assert both.provider.problems() == ["there is no cluster far"]
    both.pools.wrong = AccessDenied("the credentials have expired")
    assert both.provider.problems() == ["the credentials have expired"]


class IsolatingPods(RehearsedPods):
    """Pods that are an instance of their own."""

    def instance(self, wanted: WantedBurst) -> str:
        return f"the instance of {wanted.label}"

    def isolation_problems(self) -> Sequence[str]:
        return ["the credentials may not exec"]


def test_an_instance_of_its_own_is_that_of_the_pods() -> None:
    both = Both()
    provider = NodePoolProvider(both.pools, IsolatingPods(both.there))
    assert provider.instance(WANTED) == "the instance of 62dgmfw4gk"
    assert list(provider.isolation_problems()) == ["the credentials may not exec"]


def test_pods_that_join_alone_are_no_instances() -> None:
    both = Both()
    with pytest.raises(RetryLater, match="pods of pools are no instances for single jobs"):
        both.provider.instance(WANTED)
    assert list(both.provider.isolation_problems()) == ["pods of pools are no instances for single jobs"]
