"""broker.toml: what Flux and the embedded instance read from it."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config import broker_toml, own_toml
from broker_config.errors import BrokerTomlError, SettingsError
from broker_config.formats import hostlist
from broker_config.scheduler_settings import SchedulerSettings
from broker_config.settings import (
    BrokerEndpoint,
    BrokerSettings,
    BurstCluster,
    BurstingSettings,
    Command,
    LeadApiSettings,
    LeadBrokerSettings,
    NetworkSettings,
    RunMode,
)

SERVICE = NetworkSettings(service="svc", namespace="ns", domain="my.domain", port=9000)
values = st.recursive(
    st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def rendered(**settings):
    return tomllib.loads(broker_toml.render(BrokerSettings("mc", **settings)))


def hosts(document):
    return [name for entry in document["bootstrap"]["hosts"] for name in hostlist.decode(entry["host"])]


def test_names_are_found_through_the_service():
    """Bind everywhere, connect by DNS name; port and domain are settings."""
    bootstrap = rendered(size=3, network=SERVICE)["bootstrap"]
    assert bootstrap == {
        "curve_cert": "/run/minicluster/curve.cert",
        "default_port": 9000,
        "default_bind": "tcp://*:%p",
        "default_connect": "tcp://%h.svc.ns.svc.my.domain:%p",
        "hosts": [{"host": "mc-[0-2]"}],
    }


def test_minimal_service_names_the_lead_only():
    """flux.minimalService: the Service's own address is the lead's."""
    entries = rendered(size=3, network=NetworkSettings("svc", "ns", minimal=True))["bootstrap"]["hosts"]
    assert entries == [
        {"host": "mc-0", "bind": "tcp://*:%p", "connect": "tcp://svc.ns.svc.cluster.local:%p"},
        {"host": "mc-[1-2]"},
    ]


def test_explicit_endpoints():
    """A local run gives each listening broker its own port; nothing is left to defaults."""
    uri = "tcp://127.0.0.1:4711"
    network = NetworkSettings(endpoints=(BrokerEndpoint("mc-0", uri, uri), BrokerEndpoint("mc-2", uri, uri)))
    bootstrap = rendered(size=4, network=network)["bootstrap"]
    assert "default_port" not in bootstrap
    assert bootstrap["hosts"] == [
        {"host": "mc-0", "bind": uri, "connect": uri},
        {"host": "mc-1"},
        {"host": "mc-2", "bind": uri, "connect": uri},
        {"host": "mc-3"},
    ]


def test_hosts_up_to_the_largest_size():
    """Flux reads them at start only."""
    assert len(hosts(rendered(size=2, max_size=7))) == 7


def test_bursting_clusters_follow():
    """Their hosts may join later."""
    bursting = BurstingSettings(clusters=(BurstCluster("burst-0", 2), BurstCluster("burst-1", 1)))
    assert hosts(rendered(size=2, bursting=bursting)) == [
        "mc-0",
        "mc-1",
        "burst-0-0",
        "burst-0-1",
        "burst-1-0",
    ]


def test_cluster_of_a_remote_lead_agrees_on_the_ranks():
    """Both sides list the same hosts; only the lead's address is another one."""
    clusters = (BurstCluster("burst-0", 2),)
    near = hosts(rendered(size=3, bursting=BurstingSettings(clusters=clusters)))
    bursting = BurstingSettings(lead=LeadBrokerSettings("24.1.2.3", "mc", 3, 30093), clusters=clusters)
    far = tomllib.loads(broker_toml.render(BrokerSettings("burst-0", size=2, bursting=bursting)))
    assert hosts(far) == near
    assert far["bootstrap"]["hosts"][0]["connect"] == "tcp://24.1.2.3:30093"


def test_own_hostlist_replaces_all():
    """flux.bursting.hostlist."""
    assert hosts(rendered(bursting=BurstingSettings(hostlist="mc-[0-1],gffw-[001-002]"))) == [
        "mc-0",
        "mc-1",
        "gffw-001",
        "gffw-002",
    ]


def test_host_listed_twice_is_refused():
    """Its rank would be unknown."""
    with pytest.raises(SettingsError, match="host mc-1 is listed twice"):
        rendered(size=3, bursting=BurstingSettings(hostlist="mc-[0-1],mc-1"))


def test_a_long_list_is_searched_once_for_a_host_that_is_there_twice():
    """A search for each host would take minutes."""
    with pytest.raises(SettingsError, match="host mc-99998 is listed twice"):
        rendered(bursting=BurstingSettings(hostlist="mc-[0-99998],mc-99998"))


def test_resources_come_from_the_file_beside():
    """And Flux does not compare them with what a container shows."""
    assert rendered(config_dir="/a b")["resource"] == {"path": "/a b/R", "noverify": True}


def test_one_user():
    """No setuid helper is needed."""
    assert rendered()["access"] == {"allow-guest-user": True, "allow-root-owner": True}


@pytest.mark.parametrize(
    ("policy", "fluxion", "ours"),
    [
        ("easy", {"queue-policy": "easy"}, "easy"),
        ("minicluster/easy", None, "easy"),
        ("malleable", None, "malleable"),
    ],
)
def test_policy(policy, fluxion, ours):
    """A bare name that Fluxion knows is Fluxion's too; every policy is ours."""
    document = rendered(scheduler=SchedulerSettings(policy))
    assert document.get("sched-fluxion-qmanager") == fluxion
    assert document["minicluster"]["queue-policy"] == ours


@pytest.mark.parametrize(
    ("scheduler", "when"),
    [
        pytest.param(SchedulerSettings("minicluster/easy"), "always", id="ours, by its full name"),
        pytest.param(SchedulerSettings("minicluster/fcfs"), "always", id="strict order, by its full name"),
        pytest.param(SchedulerSettings("priority-elastic"), "always", id="a name that only we have"),
        pytest.param(SchedulerSettings("easy"), "without-fluxion", id="a name that Fluxion has as well"),
        pytest.param(SchedulerSettings("fcfs"), None, id="strict order: Flux's own has it"),
        pytest.param(SchedulerSettings("hybrid"), None, id="a name that only Fluxion has"),
        pytest.param(SchedulerSettings(""), None, id="no name"),
        pytest.param(
            SchedulerSettings("minicluster/easy", simple=True), None, id="Flux's simple one instead"
        ),
        pytest.param(SchedulerSettings(placement="low-rank"), None, id="the placement that there is anyway"),
        pytest.param(SchedulerSettings(placement="spread"), "without-fluxion", id="a placement"),
        pytest.param(SchedulerSettings(affinity="required"), "without-fluxion", id="an affinity"),
        pytest.param(
            SchedulerSettings("hybrid", placement="spread"), None, id="a placement under Fluxion's policy"
        ),
    ],
)
def test_when_real_flux_loads_our_scheduler(scheduler, when):
    """Then it also refuses at submission what can never run."""
    document = rendered(scheduler=scheduler)
    assert document["minicluster"].get("flux-scheduler") == when
    validator = {"validator": {"plugins": ["jobspec", "feasibility"]}} if when else None
    assert document.get("ingest") == validator


def test_simple_scheduler_is_chosen_over_fluxion():
    """flux.scheduler.simple."""
    assert (
        rendered(scheduler=SchedulerSettings(simple=True))["modules"]["alternatives"]["sched"]
        == "sched-simple"
    )


@given(st.dictionaries(st.text(), values, max_size=4))
def test_any_scheduler_setting_survives(settings):
    """Strings, numbers, lists and tables are quoted as TOML wants it."""
    document = rendered(scheduler=SchedulerSettings(settings=settings))
    assert document["minicluster"].get("scheduler-settings", {}) == settings


@pytest.mark.parametrize("field", ["settings", "placementSettings"])
def test_setting_that_toml_cannot_express(field):
    """It is named."""
    keyword = {"settings": "settings", "placementSettings": "placement_settings"}[field]
    with pytest.raises(SettingsError, match=rf"flux.scheduler.{field}.x: None cannot be written in TOML"):
        rendered(scheduler=SchedulerSettings(**{keyword: {"x": None}}))


@pytest.mark.parametrize(
    ("scheduler", "keys"),
    [
        pytest.param(SchedulerSettings(), {}, id="nothing is named"),
        pytest.param(SchedulerSettings(placement="minicluster/low-rank"), {}, id="the default one"),
        pytest.param(
            SchedulerSettings(placement="minicluster/pack"), {"placement": "pack"}, id="by its name"
        ),
        pytest.param(
            SchedulerSettings(placement="random", placement_settings={"seed": 3}, affinity="none"),
            {"placement": "random", "placement-settings": {"seed": 3}, "affinity": "none"},
            id="all three",
        ),
        pytest.param(
            SchedulerSettings(placement="low-rank", placement_settings={"x": 1}),
            {"placement": "low-rank", "placement-settings": {"x": 1}},
            id="the default one with settings",
        ),
    ],
)
def test_placement(scheduler, keys):
    """Brokers' files stay as they were where a document names none."""
    table = rendered(scheduler=scheduler)["minicluster"]
    ours = ("placement", "placement-settings", "affinity")
    assert {key: table[key] for key in ours if key in table} == keys


def test_tuple_is_an_array():
    """Frozen settings hold tuples."""
    document = rendered(scheduler=SchedulerSettings(settings={"x": (1, 2)}))
    assert document["minicluster"]["scheduler-settings"] == {"x": [1, 2]}


def own_hosts(text):
    return [name for each in own_toml.own(text).hosts for name in each.names()]


OWN = '[bootstrap]\ncurve_cert = "/c"\nhosts = [{ host = "a[0-1]" }, { host = "a1", parent = "a0" }]\n'


def test_users_own_text_is_taken_as_it_is():
    """flux.brokerConfig."""
    assert broker_toml.render(BrokerSettings("mc", broker_toml=OWN)) == OWN


def test_hosts_of_the_users_own_text():
    """A further entry for a host is no further rank."""
    assert own_hosts(OWN) == ["a0", "a1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[bootstrap\n", "broker.toml is not TOML: .*line 1, column 11"),
        ("bootstrap = 3", r"'bootstrap' must be a table, as in \[bootstrap\]"),
        ("[bootstrap]\n", r"\[bootstrap\] hosts is empty"),
        ("[bootstrap]\nhosts = 3\n", r"\[bootstrap\] hosts must be a list of tables"),
        ("[bootstrap]\nhosts = [3]\n", r"\[bootstrap\] hosts, entry 1: there is no host"),
        ("[bootstrap]\nhosts = [{ host = 'a[' }]\n", r"hosts, entry 1: hostlist 'a\[', character 2"),
        ("[bootstrap]\nhosts = [{ host = 'a[0-1]' }]\n", r"\[bootstrap\] curve_cert is missing"),
    ],
)
def test_users_own_text_that_no_broker_could_start_from(text, message):
    """Every message says what is missing."""
    with pytest.raises(BrokerTomlError, match=message):
        own_toml.check(text)


LEAD_API = LeadApiSettings(9443, "/etc/keys")


def test_no_lead_api_no_module():
    """A local machine's lead loads nothing besides."""
    assert "modules" not in rendered()["minicluster"]


@pytest.mark.parametrize(
    ("more", "main_job"),
    [
        pytest.param({"command": Command("true")}, True, id="plain"),
        pytest.param({"command": Command("true"), "mode": RunMode.BATCH}, True, id="batch"),
        pytest.param({"command": Command("true"), "mode": RunMode.LAUNCHER}, False, id="launcher"),
        pytest.param({}, False, id="interactive"),
    ],
)
def test_lead_module(more, main_job):
    """Where it listens, where its files are, and whether a main job is to be looked for."""
    modules = rendered(lead_api=LEAD_API, **more)["minicluster"]["modules"]
    assert modules == {"door": {"port": 9443, "directory": "/etc/keys", "main-job": main_job, "min-size": 1}}


USERS = '[bootstrap]\nhosts = [{host="mc-0"}]\n'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(USERS, id="bootstrap-only"),
        pytest.param(f'{USERS}[minicluster]\nqueue-policy = "easy"', id="our-table"),
        pytest.param(f"{USERS}# end", id="comment"),
    ],
)
def test_lead_module_beside_the_users_own_text(text):
    """Its table comes behind the text, which stays as it is."""
    shown = broker_toml.render(BrokerSettings("mc", broker_toml=text, lead_api=LEAD_API))
    assert shown.startswith(text.rstrip())
    assert tomllib.loads(shown)["minicluster"]["modules"]["door"]["port"] == 9443


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"minicluster = {{}}\n{USERS}", id="inline-table"),
        pytest.param(f"{USERS}[minicluster.modules.door]\nport = 1\n", id="their-own-door"),
    ],
)
def test_no_lead_api_where_toml_allows_no_table(text):
    """The text is used as it is."""
    assert broker_toml.render(BrokerSettings("mc", broker_toml=text, lead_api=LEAD_API)) == text
