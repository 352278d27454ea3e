"""The list of hosts, compared between a lead and those who join it."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config import broker_toml, host_table
from broker_config.errors import BrokerTomlError
from broker_config.settings import (
    BrokerEndpoint,
    BrokerSettings,
    BurstCluster,
    BurstingSettings,
    LeadBrokerSettings,
    NetworkSettings,
)

clusters = st.lists(st.integers(1, 120), max_size=3).map(
    lambda sizes: tuple(BurstCluster(f"burst-{index}", size) for index, size in enumerate(sizes))
)


def digest(settings):
    return host_table.digest(broker_toml.render(settings))


def far(size, **bursting):
    lead = LeadBrokerSettings("24.1.2.3", "mc", size, 30093)
    return BrokerSettings("burst-0", 2, bursting=BurstingSettings(lead, **bursting))


@given(st.integers(1, 120), clusters, st.booleans())
def test_both_sides_have_the_same(size, declared, minimal):
    """However their brokers are reached."""
    bursting = BurstingSettings(clusters=declared)
    near = BrokerSettings("mc", size, bursting=bursting, network=NetworkSettings(minimal=minimal))
    assert digest(near) == digest(far(size, clusters=declared))


def test_both_sides_have_the_same_list():
    """flux.bursting.hostlist."""
    text = "mc-[0-2],burst-0-[0-1]"
    near = BrokerSettings("mc", 3, bursting=BurstingSettings(hostlist=text))
    assert digest(near) == digest(far(3, hostlist=text))


OTHERS = {
    "another size of the lead's": far(4, clusters=(BurstCluster("burst-0", 2),)),
    "another size of a slot's": far(3, clusters=(BurstCluster("burst-0", 3),)),
    "another slot": far(3, clusters=(BurstCluster("burst-1", 2),)),
    "another order": far(3, hostlist="mc-[0-1],burst-0-[0-1],mc-2"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_hosts_have_another(other):
    """A lead would turn such a broker away."""
    near = BrokerSettings("mc", 3, bursting=BurstingSettings(clusters=(BurstCluster("burst-0", 2),)))
    assert digest(near) != digest(other)


def test_it_is_of_the_names_in_order():
    """As anybody can compute it."""
    names = "".join(f"mc-{rank}\n" for rank in range(12))
    assert digest(BrokerSettings("mc", 12)) == hashlib.sha256(names.encode()).hexdigest()


def test_explicit_endpoints_are_not_in_it():
    """As on one machine."""
    endpoints = tuple(BrokerEndpoint(f"mc-{n}", f"tcp://127.0.0.1:{n}", "tcp://x") for n in range(2))
    settings = BrokerSettings("mc", 2, network=NetworkSettings(endpoints=endpoints))
    assert digest(settings) == digest(BrokerSettings("mc", 2))


def test_a_text_without_hosts_has_none():
    """It says what is missing."""
    with pytest.raises(BrokerTomlError, match=r"there is no table \[bootstrap\] in it"):
        host_table.digest("[queues.debug]\n")
