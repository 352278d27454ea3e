"""R, RFC 20: from hosts, cores, GPUs and properties, and back."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config import resource_set
from broker_config.errors import BrokerConfigError, ResourceSetError
from broker_config.resource_set import Node, ResourceSet
from broker_config.settings import BrokerSettings, NodeResources

ids = st.sets(st.integers(0, 40), min_size=1, max_size=6).map(lambda found: tuple(sorted(found)))
gpu_ids = st.just(()) | ids


@st.composite
def resource_sets(draw):
    ranks = draw(st.sets(st.integers(0, 50), min_size=1, max_size=6))
    nodes = tuple(Node(rank, f"mc-{rank}", draw(ids), draw(gpu_ids)) for rank in sorted(ranks))
    start = draw(st.sampled_from([0.0, 1e9]))
    return ResourceSet(
        nodes,
        nslots=draw(st.none() | st.integers(1, 9)),
        properties=draw(
            st.dictionaries(st.text("ab+@-é", min_size=1), st.just(tuple(sorted(ranks))), max_size=2)
        ),
        starttime=start,
        expiration=draw(st.sampled_from([0.0, start + 60.5])),
        scheduling=draw(st.none() | st.just({"writer": "x"})),
    )


@given(resource_sets())
def test_round_trip(resources):
    """Whatever is written is read back equal."""
    assert resource_set.loads(resource_set.dumps(resources)) == resources


def test_of_settings():
    """Every host known to Flux, with the cores and GPUs of one broker."""
    settings = BrokerSettings(
        "mc", size=2, max_size=4, node=NodeResources(cores=3, gpus=1, properties={"big": "1-2"})
    )
    document = json.loads(resource_set.render(settings))
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
    resources = resource_set.of_settings(BrokerSettings("mc", size=2, broker_toml=text))
    assert resources.hosts == ("other1", "other2", "other3", "other4", "other5")


def test_totals():
    """Cores and GPUs over all nodes."""
    resources = resource_set.of_hosts(["a", "b"], cores=3, gpus=2)
    assert (resources.ncores, resources.ngpus) == (6, 4)


def test_rfc_example():
    """Ranks need not begin at 0; one hostlist may cover several entries."""
    text = """{"version": 1, "execution": {"R_lite": [
        {"rank": "20-22", "children": {"core": "0-47", "gpu": "0-7"}},
        {"rank": "19", "children": {"core": "0-47"}}],
        "nodelist": ["node186", "node[187-189]"], "nslots": 32, "starttime": 1, "expiration": 3600}}"""
    resources = resource_set.loads(text)
    assert [(node.rank, node.host, len(node.gpus)) for node in resources.nodes] == [
        (19, "node186", 0),
        (20, "node187", 8),
        (21, "node188", 8),
        (22, "node189", 8),
    ]


def document(**changes):
    execution = {"R_lite": [{"rank": "0-1", "children": {"core": "0"}}], "nodelist": ["a[0-1]"], **changes}
    return {"version": 1, "execution": execution}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({**document(), "version": 2}, "R has version 2: only version 1 is known"),
        ({"version": True}, "R, R.version: there must be a JSON number, not True"),
        ({"version": 1}, "R, R.execution: there must be a JSON object, not None"),
        ([], "R, R.version: there must be a JSON number"),
        (document(nodelist="a"), "R, execution.nodelist: there must be a JSON array, not 'a'"),
        (document(nodelist=["a["]), "R, nodelist: hostlist 'a[', character 2"),
        (document(nodelist=["a[0-2]"]), "R names 3 hosts in nodelist for 2 ranks in R_lite"),
        (document(R_lite=[]), "R names 2 hosts in nodelist for 0 ranks"),
        (document(R_lite=[], nodelist=[]), "R holds no node"),
        (document(R_lite=[{"rank": "0-1"}]), "R, R_lite[0].children: there must be a JSON object"),
        (document(R_lite=[{"rank": "x"}]), "R, R_lite[0].rank: idset 'x', character 1"),
        (
            document(R_lite=[{"rank": 0, "children": {}}]),
            "R, R_lite[0].rank: there must be a JSON string, not 0",
        ),
        (
            document(R_lite=[{"rank": "0-1", "children": {"gpu": "0"}}]),
            "R, R_lite[0].children.core: there must",
        ),
        (document(R_lite=[{"rank": "0-1", "children": {"core": ""}}]), "gives rank 0 (a0) no core"),
        (
            document(R_lite=[{"rank": "0", "children": {"core": "0"}}] * 2),
            "R lists its ranks [0, 0] out of order or twice",
        ),
        (document(nslots=0), "R has nslots 0: an allocation has at least 1"),
        (document(starttime=5, expiration=5), "R expires at 5.0, not after its start at 5.0"),
        (document(properties={"a|b": "0"}), "R, property 'a|b': '|' in its name is not allowed"),
        (document(properties={"": "0"}), "R, property '': an empty name is not allowed"),
        (document(properties={"a": "0-5"}), "R, property 'a': rank 2-5 is not in R"),
        (document(properties={"a": 3}), "R, properties.a: there must be a JSON string, not 3"),
    ],
)
def test_wrong(broken, message):
    """What Flux would reject is refused, the key named."""
    with pytest.raises(ResourceSetError) as caught:
        resource_set.from_dict(broken)
    assert message in str(caught.value)


def test_not_json():
    """The message is the JSON parser's, which gives the place."""
    with pytest.raises(ResourceSetError, match=r"R is not JSON: .*line 1 column 2"):
        resource_set.loads("{")


@pytest.mark.parametrize(
    "settings", [BrokerSettings("mc", node=NodeResources(cores=0)), BrokerSettings("a b")]
)
def test_settings_that_flux_would_reject(settings):
    """No core; a name that is no host's."""
    with pytest.raises(BrokerConfigError):
        resource_set.render(settings)


def test_what_brokers_import_is_light():
    """Neither jinja2 nor ZeroMQ comes with the parsers."""
    code = (
        "import sys; from broker_config import broker_toml, hostlist, idset, resource_set, settings, shell; "
        "sys.exit(bool({'jinja2', 'zmq', 'pydantic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
