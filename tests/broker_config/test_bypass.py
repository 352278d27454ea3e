"""The plugin for jobs without resources: in broker.toml where bursts are isolated, and nowhere else."""

from __future__ import annotations

import tomllib

import pytest

from broker_config import broker_toml
from broker_config.settings import BrokerSettings, BurstingSettings

OURS = {"load": "alloc-bypass.so"}


def rendered(text="", *, isolated=True):
    settings = BrokerSettings(
        "mc", size=2, broker_toml=text, bursting=BurstingSettings(managed=True, isolated=isolated)
    )
    return tomllib.loads(broker_toml.render(settings))


def test_it_is_there_where_bursts_are_isolated():
    assert rendered()["job-manager"] == {"plugins": [OURS]}


def test_where_bursts_join_nothing_changes():
    assert rendered(isolated=False) == tomllib.loads(broker_toml.render(BrokerSettings("mc", size=2)))


@pytest.mark.parametrize(
    ("text", "plugins"),
    [
        pytest.param('[{load = "own.so"}]', [{"load": "own.so"}, OURS], id="another"),
        pytest.param('[{load = "alloc-bypass.so"}]', [OURS], id="the-same"),
        pytest.param("[]", [OURS], id="none"),
    ],
)
def test_it_stays_among_those_of_the_user(text, plugins):
    found = rendered(f"[job-manager]\ninactive-num-limit = 5\nplugins = {text}")
    assert found["job-manager"] == {"inactive-num-limit": 5, "plugins": plugins}


def test_other_tables_of_the_user_leave_it():
    assert rendered("[job-manager]\ninactive-num-limit = 5")["job-manager"]["plugins"] == [OURS]
