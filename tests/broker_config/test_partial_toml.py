"""A broker.toml of the user's that has no table [bootstrap] is merged over the rendered one."""

from __future__ import annotations

import time
import tomllib

import pytest

from broker_config import broker_toml, instance_resources, own_toml, start_script, toml_limits
from broker_config.errors import BrokerTomlError
from broker_config.scheduler_settings import SchedulerSettings
from broker_config.settings import (
    ArchiveSettings,
    BrokerSettings,
    BurstCluster,
    BurstingSettings,
    Command,
    LeadApiSettings,
)

QUEUES = """\
[queues.batch]
[queues.debug]
requires = ["debug"]
[policy.jobspec.defaults.system]
queue = "batch"
"""
WHOLE = '[bootstrap]\nhosts = [{ host = "mc-0" }]\n'
EVERYTHING = BrokerSettings(
    "mc",
    size=2,
    lead_api=LeadApiSettings(),
    archive=ArchiveSettings(path="/data/a.dump"),
    scheduler=SchedulerSettings(policy="minicluster/easy", settings={"max-reservations": 2}),
)
BURSTS = BrokerSettings("mc", bursting=BurstingSettings(clusters=(BurstCluster("cloud", 2),), managed=True))
SIMPLE = BrokerSettings("mc", scheduler=SchedulerSettings(simple=True))


def merged(text, **settings):
    return tomllib.loads(broker_toml.render(BrokerSettings("mc", size=2, broker_toml=text, **settings)))


def test_its_tables_come_to_the_rendered_ones():
    """Queues need neither hosts nor a certificate."""
    found = merged(QUEUES)
    assert found == {
        **broker_toml.tables(BrokerSettings("mc", size=2)),
        "queues": {"batch": {}, "debug": {"requires": ["debug"]}},
        "policy": {"jobspec": {"defaults": {"system": {"queue": "batch"}}}},
    }


@pytest.mark.parametrize(
    ("text", "table", "expected"),
    [
        pytest.param(
            "[resource]\nnoverify = false",
            "resource",
            {"path": "/etc/minicluster/R", "noverify": False},
            id="value",
        ),
        pytest.param(
            "[access]\nx = [1, 2]",
            "access",
            {"allow-guest-user": True, "allow-root-owner": True, "x": [1, 2]},
            id="list",
        ),
        pytest.param("[kvs]\n", "kvs", {}, id="a table that is not rendered"),
    ],
)
def test_its_values_replace_rendered_ones(text, table, expected):
    """Values of the same table that it leaves out stay."""
    assert merged(text)[table] == expected


def test_the_lead_module_stays_beside_a_table_of_ours():
    """Without it the operator could not ask the lead."""
    found = merged("[minicluster]\norder-timeout = '9s'", lead_api=LeadApiSettings())["minicluster"]
    assert (found["order-timeout"], found["modules"]["door"]["port"]) == ("9s", LeadApiSettings().port)


@pytest.mark.parametrize(
    "text", [pytest.param("# nothing yet\n", id="a comment"), pytest.param("", id="none")]
)
def test_nothing_to_merge_changes_nothing(text):
    """The text is the rendered one, letter for letter."""
    assert broker_toml.render(BrokerSettings("mc", broker_toml=text)) == broker_toml.render(
        BrokerSettings("mc")
    )


def test_hosts_are_those_of_the_rendered_one():
    """R covers them."""
    settings = BrokerSettings("mc", size=2, max_size=4)
    assert instance_resources.render(
        BrokerSettings("mc", size=2, max_size=4, broker_toml=QUEUES)
    ) == instance_resources.render(settings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("queues = ['debug']", "'queues' must be a table"),
        ("resource = 3", "'resource' must be a table"),
        ("[minicluster]\nmodules = 3", "'minicluster.modules' must be a table"),
        ("[minicluster.modules]\ndoor = true", "'minicluster.modules.door' must be a table"),
        (f"[a]\nb = 0b{'1' * 15_000}", "broker.toml: a number of more than 4300 digits"),
        (
            f"[a]\nb = '{'x' * 17_000}'",
            "has 17010 bytes and no table .bootstrap.; what is merged may have 16384",
        ),
    ],
)
def test_what_cannot_be_merged_is_refused(text, message):
    """Each broker would stop at it, or be without what this project needs."""
    with pytest.raises(BrokerTomlError, match=message):
        own_toml.check(text)


def nested(table, above=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield f"{above}{key}"
            yield from nested(value, f"{above}{key}.")


def test_every_rendered_table_within_a_table_is_checked():
    """Else a value in its place would replace it."""
    found = {
        path
        for each in (EVERYTHING, SIMPLE, BURSTS)
        for path in nested(broker_toml.tables(each))
        if "." in path and not path.startswith("queues.")  # a queue that is no table stops Flux
    }
    assert found == set(own_toml.NESTED_TABLES)


def test_a_long_key_before_many_tables_costs_little():
    """Each table is written with all of its path."""
    key = "k" * (toml_limits.MAX_PARTIAL // 2)
    children = ",".join(f"{number}={{}}" for number in range(800))
    begin = time.process_time()
    text = broker_toml.render(BrokerSettings("mc", broker_toml=f"{key}={{{children}}}"))
    assert (len(text) < 8_000_000, time.process_time() - begin < 5) == (True, True)


@pytest.mark.parametrize(
    "text", [pytest.param(QUEUES, id="merged"), pytest.param(WHOLE + QUEUES, id="whole")]
)
@pytest.mark.parametrize(
    "command", [pytest.param(Command(), id="interactive"), pytest.param(Command("true"), id="a command")]
)
def test_named_queues_are_started_once(text, command):
    """Flux makes them stopped; those of a restored instance are as they were."""
    plain = BrokerSettings("mc", command=command, broker_toml="" if text == QUEUES else WHOLE)
    named = BrokerSettings("mc", command=command, broker_toml=text)
    start = "flux queue start --all"
    counts = [start_script.render(each).count(start) for each in (plain, named)]
    assert counts == [1, 2]


def test_a_scheduler_of_ours_is_loaded_where_it_is_merged():
    """A whole one of the user's says itself what is loaded."""
    scheduler = SchedulerSettings(policy="minicluster/easy")
    shown = [
        "flux_scheduler.zip"
        in start_script.render(BrokerSettings("mc", scheduler=scheduler, broker_toml=text))
        for text in ("", QUEUES, WHOLE)
    ]
    assert shown == [True, True, False]
