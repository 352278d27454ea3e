"""Connections to leads: one a MiniCluster, opened when it is needed, and anew after it was lost."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats import resource_set
from broker_config.formats.errors import ParseError
from burst.clusters.connections import LeadConnections
from burst.clusters.records import BurstingCluster
from burst.errors import ClusterGone, LeadAway
from minicluster.instance.errors import InstanceGone
from tests.burst.joining.near import near

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTS = ("near-0", "near-1", "burst-0-0")
R = resource_set.to_dict(resource_set.alike(HOSTS, 2, 0, {"local": (0, 1), "burst": (2,), "burst-0": (2,)}))


class FakeInstance:
    """An instance that answers what a connection asks at first."""

    def __init__(self) -> None:
        self.links = self
        self.is_closed = False

    def rpc(self, topic: str, _payload: object) -> dict[str, Any]:
        return {"all": R} if topic == "resource.sched-status" else {"value": "1.5"}

    def close(self) -> None:
        self.is_closed = True


def cluster(uid: str, connect: Callable[[], Any]) -> BurstingCluster:
    unused: Any = None
    return BurstingCluster(uid, uid, f"default/{uid}", near(), connect, lambda _slot: unused)


def test_one_is_connected_once_and_knows_its_slots() -> None:
    made: list[FakeInstance] = []

    def connect() -> FakeInstance:
        made.append(FakeInstance())
        return made[-1]

    connections = LeadConnections()
    connections.serve([cluster("a", connect)])
    found = connections.opened("a")
    assert found is connections.opened("a")
    assert (found.identity, found.layout.slots["burst-0"].first, len(made)) == ("1.5", 2, 1)
    connections.close()
    assert made[0].is_closed


def test_after_a_call_that_failed_it_is_connected_anew() -> None:
    made: list[FakeInstance] = []

    def connect() -> FakeInstance:
        made.append(FakeInstance())
        return made[-1]

    def fail(_lead: object) -> None:
        raise InstanceGone("the broker ended")

    connections = LeadConnections()
    connections.serve([cluster("a", connect)])
    with pytest.raises(LeadAway, match="the broker ended"):
        connections.ask("a", fail)
    assert made[0].is_closed
    assert connections.ask("a", lambda lead: lead.identity) == "1.5"
    assert len(made) == 2


def test_one_that_cannot_be_connected_is_away() -> None:
    def connect() -> None:
        raise InstanceGone("no broker answers")

    connections = LeadConnections()
    connections.serve([cluster("a", connect)])
    with pytest.raises(LeadAway, match="no broker answers"):
        asyncio.run(connections.lead("a").view("burst-0", "aaaaaaaaaa"))


def test_one_whose_answers_cannot_be_used_is_away(caplog: pytest.LogCaptureFixture) -> None:
    """Others are served on, and the log has where it failed."""
    made: list[FakeInstance] = []

    def connect() -> FakeInstance:
        made.append(FakeInstance())
        return made[-1]

    def fail(_lead: object) -> None:
        raise ParseError("idset '8,1', character 3: 1 does not come after 8")

    connections = LeadConnections()
    connections.serve([cluster("a", connect)])
    words = r"^its answer cannot be used: ParseError: idset '8,1', character 3: 1 does not come after 8$"
    with pytest.raises(LeadAway, match=words):
        connections.ask("a", fail)
    with pytest.raises(LeadAway, match=r"^its answer cannot be used: KeyError: 'burst-1'$"):
        asyncio.run(connections.lead("a").view("burst-1", "aaaaaaaaaa"))
    assert caplog.messages == ["what a lead answers cannot be used"] * 2
    assert [each.is_closed for each in made] == [True, True]


def test_one_that_is_not_there_is_gone() -> None:
    connections = LeadConnections()
    with pytest.raises(ClusterGone, match="its MiniCluster is gone"):
        asyncio.run(connections.lead("a").start_queue("burst-0"))


def test_one_that_is_slow_does_not_delay_others() -> None:
    """And one that has gone meanwhile is hung up on."""
    begun, answers = threading.Event(), threading.Event()
    slow, errors = FakeInstance(), list[Exception]()

    def connect() -> FakeInstance:
        begun.set()
        answers.wait(30)
        return slow

    connections = LeadConnections()
    connections.serve([cluster("slow", connect), cluster("b", FakeInstance)])

    def ask() -> None:
        try:
            connections.opened("slow")
        except ClusterGone as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(30)
    assert connections.opened("b").identity == "1.5"
    connections.serve([cluster("b", FakeInstance)])
    answers.set()
    asking.join(30)
    assert [str(error) for error in errors] == ["its MiniCluster is gone"]
    assert slow.is_closed
    connections.close()
