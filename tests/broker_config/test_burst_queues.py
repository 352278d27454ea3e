"""The queues of a MiniCluster with slots: which there are, what they require, which are started."""

from __future__ import annotations

import json
import tomllib

import pytest

from broker_config import broker_toml, burst_queues, instance_resources, start_script
from broker_config.scheduler_settings import SchedulerSettings
from broker_config.settings import (
    ArchiveSettings,
    BrokerSettings,
    BurstCluster,
    BurstingSettings,
    Command,
    LeadBrokerSettings,
    NodeResources,
    RunMode,
)

CLUSTERS = (BurstCluster("burst-0", 2), BurstCluster("big", 1))
PLUGIN = "/etc/minicluster/minicluster-burst.py"
WHOLE = '[bootstrap]\ncurve_cert = "/c"\nhosts = [{ host = "mc-[0-1]" }]\n'


def settings(text="", *, managed=False, clusters=CLUSTERS, **more):
    bursting = BurstingSettings(clusters=clusters, managed=managed, lead=more.pop("lead", None))
    return BrokerSettings("mc", **{"size": 2, "bursting": bursting, "broker_toml": text, **more})


def rendered(text="", **more):
    return tomllib.loads(broker_toml.render(settings(text, **more)))


def test_each_slot_has_one_beside_the_local_one_and_the_waiting_room():
    """Jobs that name none are ordinary ones."""
    found = rendered()
    assert found["queues"] == {
        "default": {"requires": ["local"]},
        "burst": {"requires": ["burst"]},
        "burst-0": {"requires": ["burst-0"]},
        "big": {"requires": ["big"]},
    }
    assert found["policy"] == {"jobspec": {"defaults": {"system": {"queue": "default"}}}}
    assert "ingest" not in found
    assert "bursting" not in found["minicluster"]


def test_what_they_require_are_properties_in_r():
    """Each rank is local or a burst's."""
    properties = instance_resources.of_settings(settings(max_size=4))["execution"]["properties"]
    assert properties == {"local": "0-3", "burst": "4-6", "burst-0": "4-5", "big": "6"}


def test_slots_that_nobody_manages_change_hosts_queues_and_properties_alone():
    """What else a lead reads is as without them: whoever bursts by hand, as with the reference, may go on."""
    without = tomllib.loads(broker_toml.render(BrokerSettings("mc", size=2)))
    found = rendered()
    assert {key for key in without | found if without.get(key) != found.get(key)} == {
        "bootstrap",
        "policy",
        "queues",
    }
    assert [each["host"] for each in found["bootstrap"]["hosts"]] == ["mc-[0-1],burst-0-[0-1],big-0"]
    assert found["bootstrap"] | {"hosts": []} == without["bootstrap"] | {"hosts": []}
    own = instance_resources.of_settings(settings())["execution"]
    alone = instance_resources.of_settings(BrokerSettings("mc", size=2))["execution"]
    assert {key for key in own if own[key] != alone.get(key)} == {"R_lite", "nodelist", "properties"}


@pytest.mark.parametrize("managed", [False, True])
@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"clusters": ()}, id="no slots"),
        pytest.param({"lead": LeadBrokerSettings("1.2.3.4", "near", 2)}, id="followers"),
        pytest.param({"text": WHOLE}, id="a whole broker.toml"),
    ],
)
def test_there_are_none_without_slots_of_its_own(more, managed):
    """Neither queues nor properties; all queues are started where any are."""
    found = settings(managed=managed, **more)
    toml = tomllib.loads(broker_toml.render(found))
    assert {"queues", "policy", "ingest"}.isdisjoint(toml)
    assert "bursting" not in toml.get("minicluster", {})
    assert "properties" not in instance_resources.of_settings(found)["execution"]
    assert "open_queues" not in start_script.render(found)


OWN = {
    "without requires": ("[queues.debug]", {"debug": ["local"]}),
    "with its own": ('[queues.debug]\nrequires = ["ssd"]', {"debug": ["ssd", "local"]}),
    "local already": ('[queues.debug]\nrequires = ["local"]', {"debug": ["local"]}),
    "on bursts": ('[queues.debug]\nrequires = ["burst", "ssd"]', {"debug": ["burst", "ssd"]}),
    "on a slot": ('[queues.debug]\nrequires = ["big"]', {"debug": ["big"]}),
    "limits of the local one": ('[queues.default.policy.limits]\nduration = "1h"', {"default": ["local"]}),
    "the local one": ('[queues.default]\nrequires = ["ssd"]', {"default": ["ssd", "local"]}),
    "a slot's": ('[queues.big]\nrequires = ["ssd"]', {"big": ["ssd", "big"]}),
    "the waiting room": ("[queues.burst]", {"burst": ["burst"]}),
}


@pytest.mark.parametrize(("text", "expected"), OWN.values(), ids=OWN)
def test_the_users_own_stay_on_local_ranks(text, expected):
    """Unless they name a burst's."""
    found = rendered(text)["queues"]
    assert {name: found[name]["requires"] for name in expected} == expected
    assert {"default", "burst", "burst-0", "big"} <= set(found)


@pytest.mark.parametrize(
    ("text", "queues"),
    [
        pytest.param("[queues]\ndebug = 3", {"debug": 3}, id="no table"),
        pytest.param('[queues.debug]\nrequires = "x"', {"debug": {"requires": "x"}}, id="no list"),
        pytest.param(
            "[queues.debug]\nrequires = [3]", {"debug": {"requires": [3, "local"]}}, id="a number in it"
        ),
    ],
)
def test_what_is_no_queue_is_left_to_flux(text, queues):
    """It stops at it, and tells what is wrong."""
    assert rendered(text)["queues"].items() >= queues.items()


def test_a_default_queue_of_the_users_own_stays():
    """The one for ordinary jobs is there as well."""
    found = rendered('[queues.debug]\n[policy.jobspec.defaults.system]\nqueue = "debug"\nduration = "1h"')
    assert found["policy"]["jobspec"]["defaults"]["system"] == {"queue": "debug", "duration": "1h"}
    assert found["queues"]["default"] == {"requires": ["local"]}


def test_managed_bursts_are_routed_at_submission():
    """Before the queue's constraint is written. What no node can run is refused: it would wait for ever."""
    found = rendered(managed=True, scheduler=SchedulerSettings("minicluster/easy"))
    assert found["ingest"] == {
        **VALIDATOR,
        "frobnicator": {"plugins": ["defaults", PLUGIN, "constraints"]},
    }
    assert found["minicluster"]["bursting"] == {"slots": ["burst-0", "big"]}


VALIDATOR = {"validator": {"plugins": ["jobspec", "feasibility"]}}
ROUTED = {
    "others": ('["defaults", "/x.py", "constraints"]', ["defaults", "/x.py", PLUGIN, "constraints"]),
    "no constraints": ('["/x.py"]', ["/x.py", PLUGIN]),
    "named already": (f'["{PLUGIN}", "/x.py"]', [PLUGIN, "/x.py"]),
    "no list": ("3", 3),
}


@pytest.mark.parametrize(("text", "expected"), ROUTED.values(), ids=ROUTED)
def test_routing_stays_among_a_frobnicators_own_plugins(text, expected):
    """Without it jobs that ask for a burst would be refused."""
    found = rendered(f"[ingest.frobnicator]\nplugins = {text}\n[ingest.batch]\nx = 1", managed=True)
    assert found["ingest"] == {"frobnicator": {"plugins": expected}, "batch": {"x": 1}, **VALIDATOR}


def test_other_tables_of_ingest_change_no_routing():
    """They are merged."""
    found = rendered("[ingest]\nbatch-count = 5", managed=True)["ingest"]
    plugins = ["defaults", PLUGIN, "constraints"]
    assert found == {"batch-count": 5, "frobnicator": {"plugins": plugins}, **VALIDATOR}


def test_only_ordinary_ones_are_started():
    """Not the waiting room, nor those of slots, whoever names them."""
    text = '[queues.debug]\n[queues.big]\n[queues.burst]\n[queues."a b"]'
    assert burst_queues.started(settings(text)) == ("default", "debug", "a b")
    assert "for queue in default debug 'a b'; do" in start_script.render(settings(text))


@pytest.mark.parametrize("text", ["", "[queues.debug]"])
@pytest.mark.parametrize("archive", ["", "/data/state"])
@pytest.mark.parametrize("mode", RunMode)
def test_the_start_script_never_starts_all(mode, archive, text):
    """Wherever it starts queues: at first, after a restore, after a save that failed."""
    command = Command() if mode is RunMode.INTERACTIVE else Command("true")
    more = {"mode": mode, "command": command, "archive": ArchiveSettings(archive)}
    script = start_script.render(settings(text, **more))
    plain = start_script.render(settings(text or "[queues.debug]", clusters=(), **more))
    assert "queue start --all" not in script
    assert script.count("open_queues >/dev/null") == plain.count("flux queue start --all")


def entries(**more):
    found = json.loads(instance_resources.render(settings(**more)))["execution"]["R_lite"]
    return [(each["rank"], each["children"]) for each in found]


def test_slots_may_have_other_nodes():
    """Ranks that are alike share an entry."""
    clusters = (BurstCluster("a", 2, 8), BurstCluster("b", 1), BurstCluster("c", 1, 8, 0))
    assert entries(clusters=clusters, node=NodeResources(4, 0)) == [
        ("0-1,4", {"core": "0-3"}),
        ("2-3,5", {"core": "0-7"}),
    ]


def test_cores_that_are_found_out_come_first():
    """One core that a slot has is none that the start script replaces."""
    clusters = (BurstCluster("a", 2, 1), BurstCluster("b", 1, None, 2), BurstCluster("c", 1))
    more = {"clusters": clusters, "node": NodeResources(None)}
    assert entries(**more) == [
        ("0-1,5", {"core": "0"}),
        ("4", {"core": "0", "gpu": "0-1"}),
        ("2-3", {"core": "0"}),
    ]
    assert instance_resources.detected(settings(**more)) == 2


@pytest.mark.parametrize(("cores", "found"), [(None, 1), (1, 0)])
def test_without_slots_there_is_one_entry(cores, found):
    """Whose cores are found out, or are not."""
    assert instance_resources.detected(BrokerSettings("mc", node=NodeResources(cores))) == found
