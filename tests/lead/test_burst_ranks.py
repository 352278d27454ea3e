"""Which ranks and queues are of bursts, by the properties in R; R is read again when it is another one."""

from __future__ import annotations

from typing import Any

import pytest

from broker_config.formats.errors import ResourceSetError
from minicluster.broker_link import burst_ranks
from minicluster.broker_link.burst_ranks import BurstRanks

TWO_SLOTS = {"local": "0-1", "burst": "2-5", "burst-0": "2-3", "burst-1": "4-5"}
FOUND = BurstRanks(frozenset({2, 3, 4, 5}), frozenset({"burst", "burst-0", "burst-1"}))


def resources(properties: dict[str, str]) -> dict[str, Any]:
    return {
        "version": 1,
        "execution": {
            "R_lite": [{"rank": "0-5", "children": {"core": "0"}}],
            "nodelist": ["mc-[0-5]"],
            "properties": properties,
        },
    }


@pytest.mark.parametrize(
    ("properties", "found"),
    [
        (TWO_SLOTS, FOUND),
        ({**TWO_SLOTS, "big": "1-5"}, FOUND),
        ({}, burst_ranks.NONE),
        ({"local": "0-5"}, burst_ranks.NONE),
        ({"burst": "0-5"}, burst_ranks.NONE),
        ({"local": "0-1", "burst": "2-4"}, burst_ranks.NONE),
        ({"local": "0-1"}, burst_ranks.NONE),
    ],
    ids=["slots", "one of theirs is here too", "none", "all local", "all burst", "one has neither", "a disk"],
)
def test_properties_show_ranks_and_queues(properties: dict[str, str], found: BurstRanks) -> None:
    assert burst_ranks.BurstRanksReader().read(resources(properties)) == found


def test_the_last_r_stands_until_there_is_another() -> None:
    reader = burst_ranks.BurstRanksReader()
    assert reader.read(None) == burst_ranks.NONE
    assert reader.read(resources(TWO_SLOTS)) == FOUND
    assert reader.read({}) == FOUND
    assert reader.read(resources({})) == burst_ranks.NONE


def test_what_is_no_r_is_refused() -> None:
    with pytest.raises(ResourceSetError, match="there must be a JSON object, not None"):
        burst_ranks.BurstRanksReader().read({"version": 1})
