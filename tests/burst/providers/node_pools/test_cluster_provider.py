"""Pods in a cluster of the burst itself: they go with their nodes, whatever its API server answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from burst.errors import AccessDenied, ProviderError, RetryLater
from burst.lifecycle.records import ResourcePhase, ResourceReport
from burst.providers.kubernetes.made_nodes import NO_TUNNELS_THERE
from burst.providers.memory import Fault, MemoryCloud
from burst.providers.node_pools.cluster_provider import ClusterProvider
from burst.rehearsal.pods import RehearsedPods
from tests.burst.providers.eks_world import EksClusterWorld

if TYPE_CHECKING:
    from burst.lifecycle.records import ResourceKey


class Own:
    """The provider with pods whose API server can be made to fail."""

    def __init__(self) -> None:
        self.world = EksClusterWorld()
        self.there = MemoryCloud(lambda: self.world.now)
        self.provider = ClusterProvider(self.world.clusters._clusters, RehearsedPods(self.there))
        self.cluster, self.nodes, self.pods = self.provider.resources(self.world.wanted)

    def make(self) -> None:
        for key in (self.cluster, self.nodes, self.pods):
            self.provider.create(key, f"token-{key.name}", self.world.wanted)
            self.world.pass_by(120)

    def get(self, key: ResourceKey) -> ResourceReport:
        return self.provider.get(key, self.world.wanted)


@pytest.fixture
def own() -> Own:
    return Own()


@pytest.mark.parametrize(
    ("error", "phase"),
    [
        (RetryLater("the API server does not answer"), ResourcePhase.COMING),
        (AccessDenied("Unauthorized"), ResourcePhase.BROKEN),
    ],
    ids=["silent", "refuses"],
)
def test_an_api_server_that_cannot_be_asked_keeps_nothing(
    own: Own, error: ProviderError, phase: ResourcePhase
) -> None:
    own.make()
    own.there.fail("get", Fault(error))
    found = own.get(own.pods)
    assert (found.phase, found.reason, found.nodes) == (phase, str(error), 0)
    own.provider.delete(own.pods, own.world.wanted)
    assert (own.get(own.nodes).phase, own.get(own.pods).phase) == (ResourcePhase.GOING, ResourcePhase.ABSENT)
    assert "delete" not in own.there.calls


def test_pods_without_nodes_are_absent_and_nobody_is_asked(own: Own) -> None:
    assert own.get(own.pods).phase is ResourcePhase.ABSENT
    assert own.there.calls == []


def test_the_listing_has_what_costs_money_in_the_order_in_which_it_goes(own: Own) -> None:
    own.make()
    assert [each.key for each in own.provider.owned("here")] == [own.nodes, own.cluster]
    assert list(own.provider.owned("elsewhere")) == []


def test_there_are_no_tunnels(own: Own) -> None:
    assert list(own.provider.tunnel_problems()) == [NO_TUNNELS_THERE]
