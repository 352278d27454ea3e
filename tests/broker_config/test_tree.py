"""Brokers from elsewhere reach the lead alone: so they have no other parent."""

import pytest

from broker_config import start_script
from broker_config.settings import BrokerSettings, BurstCluster, BurstingSettings, LeadBrokerSettings
from broker_config.tree import is_flat

FAR = BurstCluster("far", 40)


@pytest.mark.parametrize(
    ("topology", "hosts", "flat"),
    [
        *(("", 33, True), ("", 34, False), ("kary:0", 9999, True), ("kary:2", 3, True), ("kary:2", 4, False)),
        *(("binomial", 3, False), ("custom", 2, False), ("kary:x", 2, False)),
    ],
)
def test_whose_parent_is_the_lead(topology: str, hosts: int, flat: bool) -> None:
    assert is_flat(topology, hosts) is flat


def test_all_connect_to_the_lead_where_brokers_come_from_elsewhere() -> None:
    near = BrokerSettings("near", 4, bursting=BurstingSettings(clusters=(FAR,)))
    far = BrokerSettings(
        "far", 40, bursting=BurstingSettings(LeadBrokerSettings("10.0.0.1", "near", 4), clusters=(FAR,))
    )
    assert near.tree == far.tree == "kary:44"
    assert "-Stbon.topo=kary:44" in start_script.render(near)


@pytest.mark.parametrize(
    ("settings", "tree"),
    [
        pytest.param(BrokerSettings("near", 400), "", id="all here"),
        pytest.param(
            BrokerSettings("near", 4, bursting=BurstingSettings(clusters=(BurstCluster("far", 29),))),
            "",
            id="few enough",
        ),
        pytest.param(
            BrokerSettings("near", 4, topology="kary:2", bursting=BurstingSettings(clusters=(FAR,))),
            "kary:2",
            id="set",
        ),
    ],
)
def test_else_they_are_connected_as_ever(settings: BrokerSettings, tree: str) -> None:
    assert settings.tree == tree
