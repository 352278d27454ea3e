"""What a lead pushes to whoever follows it: who is there, and in which state the instance is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.client import BrokerClient
from minicluster.embedded.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable

QUORUM, RUN, CLEANUP = 4, 5, 6  # Flux's numbers


def test_group_of_brokers_that_are_there(make_instance: Callable[..., object]) -> None:
    """groups.get: the ranks now, and after each change."""
    instance = make_instance(3)
    instance.start(0, "-Sbroker.rc2_none", "-Sbroker.quorum=1")
    instance.wait(instance.online, "a lead")
    with BrokerClient(instance.uri) as client:
        members = (answer["members"] for answer in client.stream("groups.get", {"name": "broker.online"}))
        assert next(members) == "0"
        instance.start(2)
        assert next(members) == "0,2"
        instance.start(1)
        assert next(members) == "0-2"
        instance.end(2)
        assert next(members) == "0-1"


def test_a_group_that_there_is_not(cluster: object) -> None:
    """Flux would make it; here it is an error."""
    with (
        BrokerClient(cluster.uri) as client,
        pytest.raises(RpcError, match=r"the only group is broker\.online"),
    ):
        next(client.stream("groups.get", {"name": "other"}))


def test_states_as_they_are_entered(make_instance: Callable[..., object]) -> None:
    """state-machine.monitor: quorum, run, and the end."""
    instance = make_instance(2)
    instance.start(0, "-Sbroker.rc2_none")
    instance.wait(instance.online, "a lead")
    with BrokerClient(instance.uri) as client:
        states = (answer["state"] for answer in client.stream("state-machine.monitor"))
        assert next(states) == QUORUM
        instance.start(1)
        assert next(states) == RUN
        instance.flux("shutdown")
        assert next(states) >= CLEANUP


def test_rejected_peers_are_in_the_statistics(make_instance: Callable[..., object]) -> None:
    """With the reason."""
    instance = make_instance(3)
    instance.start(0, "-Sbroker.rc2_none")
    other = instance.directory / "other.toml"
    other.write_text(instance.config.read_text().replace("mc-[1-2]", "mc-[2,1]"))
    instance.start(1, config=other)
    assert instance.code(1) == 1
    (rejected,) = instance.rpc("overlay.stats-get")["turned-away"]
    reason = "mc-2 is configured as rank 2: mismatched config?"
    assert (rejected["peer"], rejected["reason"]) == ("mc-1", reason)


def test_the_queue_policy_is_an_attribute(make_instance: Callable[..., object]) -> None:
    """The one that really decides."""
    instance = make_instance(2)
    instance.config.write_text(f'{instance.config.read_text()}[minicluster]\nqueue-policy = "easy"\n')
    instance.start(0, "-Sbroker.rc2_none")
    instance.wait(instance.online, "a lead")
    assert instance.rpc("attr.get", {"name": "minicluster.queue-policy"})["value"] == "easy"
