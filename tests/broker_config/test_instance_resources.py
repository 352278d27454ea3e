"""The R of an instance, from its settings."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc

import pytest

from broker_config import broker_toml, instance_resources
from broker_config.errors import BrokerConfigError
from broker_config.formats.errors import ParseError
from broker_config.settings import (
    BrokerSettings,
    BurstCluster,
    BurstingSettings,
    LeadBrokerSettings,
    NodeResources,
)


def test_of_settings():
    """Every host known to Flux, with the cores and GPUs of one broker."""
    settings = BrokerSettings(
        "mc", size=2, max_size=4, node=NodeResources(cores=3, gpus=1, properties={"big": "1-2"})
    )
    document = json.loads(instance_resources.render(settings))
    assert document["execution"] == {
        "R_lite": [{"rank": "0-3", "children": {"core": "0-2", "gpu": "0"}}],
        "nodelist": ["mc-[0-3]"],
        "properties": {"big": "1-2"},
        "starttime": 0.0,
        "expiration": 0.0,
    }


def test_covers_the_hosts_of_the_users_own_configuration():
    """Flux stops where a bootstrap host has no resources."""
    text = '[bootstrap]\ncurve_cert = "/c"\nhosts = [{ host = "other[1-5]" }]\n'
    resources = instance_resources.of_settings(BrokerSettings("mc", size=2, broker_toml=text))
    assert resources["execution"]["nodelist"] == ["other[1-5]"]


def test_alike_nodes_cost_no_memory_for_each_core():
    """R is made from ranges, however many nodes have them."""
    settings = BrokerSettings("mc", size=2_000, node=NodeResources(cores=4_096, gpus=1_024))
    tracemalloc.start()
    try:
        document = json.loads(instance_resources.render(settings))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert document["execution"]["R_lite"] == [
        {"rank": "0-1999", "children": {"core": "0-4095", "gpu": "0-1023"}}
    ]
    assert peak < 3_000_000


MANY = {
    "local": {"size": 100_000},
    "remote": {
        "bursting": BurstingSettings(
            clusters=tuple(BurstCluster(f"b{n}-{'x' * 50}", 1_500) for n in range(64))
        )
    },
    "of a lead elsewhere": {"bursting": BurstingSettings(LeadBrokerSettings("10.0.0.1", "lead", 100_000, 1))},
    "a list": {"bursting": BurstingSettings(hostlist=f"mc-0,{'x' * 240}[0-99998]")},
    "a list in the user's own text": {
        "broker_toml": f'[bootstrap]\ncurve_cert = "/c"\nhosts = [{{ host = "{"x" * 240}[0-99999]" }}]\n'
    },
}


@pytest.mark.parametrize("many", MANY.values(), ids=MANY)
def test_a_hundred_thousand_hosts_cost_no_more_than_one(many):
    """Neither in broker.toml nor in R is anything made for each."""
    settings = BrokerSettings("mc", **many)
    tracemalloc.start()
    try:
        written = broker_toml.render(settings) + instance_resources.render(settings)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(written) < 30_000
    assert peak < 1_000_000


@pytest.mark.parametrize(
    "settings", [BrokerSettings("mc", node=NodeResources(cores=0)), BrokerSettings("a b")]
)
def test_settings_that_flux_would_reject(settings):
    """No core; a name that is no host's."""
    with pytest.raises((BrokerConfigError, ParseError)):
        instance_resources.render(settings)


def test_what_brokers_import_is_light():
    """Neither jinja2 nor ZeroMQ comes with the parsers."""
    code = (
        "import sys; import broker_config.instance_resources, broker_config.shell; "
        "sys.exit(bool({'jinja2', 'zmq', 'pydantic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
