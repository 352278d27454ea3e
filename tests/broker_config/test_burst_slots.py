"""Slots: hosts that bursts may fill, found in the settings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config import burst_slots
from broker_config.burst_slots import HostSlot
from broker_config.settings import BrokerSettings, BurstCluster, BurstingSettings, LeadBrokerSettings

WHOLE = '[bootstrap]\ncurve_cert = "/c"\nhosts = [{ host = "mc-[0-9]" }]\n'
LEAD = LeadBrokerSettings("24.1.2.3", "mc", 3)
names = st.lists(st.sampled_from(["", "default", "burst", "local", "a", "burst-0", "burst-1", "burst-2"]))


def slots(size=2, name="mc", **more):
    toml = more.pop("broker_toml", "")
    return BrokerSettings(name, size, broker_toml=toml, bursting=BurstingSettings(**more)).slots


def test_each_cluster_is_one():
    """Its ranks come after those of all own hosts."""
    clusters = (BurstCluster("burst-0", 2), BurstCluster("big", 3, 64, 8))
    found = BrokerSettings("mc", size=1, max_size=4, bursting=BurstingSettings(clusters=clusters)).slots
    assert found == (
        HostSlot("burst-0", 4, 2, None, None, "burst-0-"),
        HostSlot("big", 6, 3, 64, 8, "big-"),
    )
    assert [each.ranks for each in found] == [range(4, 6), range(6, 9)]


def test_where_another_lead_is_joined_they_are_its_own():
    """Both sides have the same ranks."""
    clusters = (BurstCluster("burst-0", 2),)
    assert slots(3, clusters=clusters) == slots(2, "burst-0", clusters=clusters, lead=LEAD)


LISTS = {
    "clear": ("mc-[0-1],cloud-[0-3]", [("cloud", 2, 4, "cloud-")]),
    "in parts": ("mc-0,mc-1,cloud-0,cloud-[1-2],cloud-3", [("cloud", 2, 4, "cloud-")]),
    "of two lengths": ("mc-[0-1],cloud-[0-11]", [("cloud", 2, 12, "cloud-")]),
    "one host": ("mc-[0-1],cloud-0", [("cloud", 2, 1, "cloud-")]),
    "a reserved name": ("mc-[0-1],burst-[0-3]", [("burst-0", 2, 4, "burst-")]),
    "a number in its name": ("mc-[0-1],burst-7-[0-3]", [("burst-7", 2, 4, "burst-7-")]),
    "own hosts alone": ("mc-[0-1]", []),
    "fewer than the own hosts": ("mc-0", []),
    "own hosts behind": ("cloud-[0-3],mc-[0-1]", []),
    "own hosts in another order": ("mc-[1,0],cloud-[0-3]", []),
    "own hosts go on": ("mc-[0-5]", []),
    "from 1": ("mc-[0-1],cloud-[1-3]", []),
    "a gap": ("mc-[0-1],cloud-[0,2-3]", []),
    "zeros in front": ("mc-[0-1],cloud-[00-03]", []),
    "two prefixes": ("mc-[0-1],a-[0-1],b-[0-1]", []),
    "no hyphen": ("mc-[0-1],cloud[0-3]", []),
    "no number": ("mc-[0-1],cloud", []),
    "no name of a property": ("mc-[0-1],a&b-[0-3]", []),
    "no name": ("mc-[0-1],-[0-3]", []),
}


@pytest.mark.parametrize(("text", "expected"), LISTS.values(), ids=LISTS)
def test_a_list_of_hosts_has_one_where_it_is_clear(text, expected):
    """The own hosts, then one numbered range."""
    found = [(each.name, each.first_rank, each.size, each.prefix) for each in slots(hostlist=text)]
    assert found == expected


def test_a_list_of_hosts_of_another_lead():
    """Its own hosts are the lead's."""
    assert slots(2, "cloud", hostlist="mc-[0-2],cloud-[0-1]", lead=LEAD) == (
        HostSlot("cloud", 3, 2, None, None, "cloud-"),
    )


def test_a_whole_broker_toml_has_none():
    """It lists its hosts by itself."""
    assert slots(clusters=(BurstCluster("burst-0", 2),), broker_toml=WHOLE) == ()
    assert len(slots(clusters=(BurstCluster("burst-0", 2),), broker_toml="[queues.a]\n")) == 1


@given(names)
def test_names_are_neither_reserved_nor_doubled(given_names):
    """Also where one is what another falls back to."""
    found = burst_slots.usable_names(given_names)
    assert len(set(found)) == len(given_names)
    assert not burst_slots.RESERVED & set(found)
    assert burst_slots.usable_names(found) == found
