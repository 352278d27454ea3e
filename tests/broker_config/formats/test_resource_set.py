"""R, RFC 20: read strictly, written in one form, and the parts of it that a scheduler works with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import hostlist, idset, resource_set
from broker_config.formats.errors import ResourceSetError
from broker_config.formats.resource_set import Node, ResourceSet

bits = st.integers(1, (1 << 40) - 1)
gpu_bits = st.just(0) | bits
properties = st.frozensets(st.text("ab+@-é", min_size=1), max_size=2)


@st.composite
def resource_sets(draw):
    ranks = sorted(draw(st.sets(st.integers(0, 50), min_size=1, max_size=6)))
    nodes = tuple(Node(rank, f"mc-{rank}", draw(bits), draw(gpu_bits), draw(properties)) for rank in ranks)
    names = sorted({name for node in nodes for name in node.properties})
    start = draw(st.sampled_from([0.0, 1e9]))
    return ResourceSet(
        nodes,
        {name: tuple(node.rank for node in nodes if name in node.properties) for name in names},
        nslots=draw(st.none() | st.integers(1, 9)),
        starttime=start,
        expiration=draw(st.sampled_from([0.0, start + 60.5])),
        scheduling=draw(st.none() | st.just({"writer": "x"})),
    )


@given(resource_sets())
def test_round_trip(resources):
    """Whatever is written is read back equal, whole and in parts."""
    assert resource_set.loads(resource_set.dumps(resource_set.to_dict(resources))) == resources
    document = resource_set.to_dict(resources)
    assert resource_set.nodes_of(document) == resources.nodes
    assert resource_set.hosts_of(document) == list(resources.hosts)
    assert resource_set.ranks_of(document) == tuple(node.rank for node in resources.nodes)
    assert resource_set.times_of(document) == (resources.starttime, resources.expiration)
    assert resource_set.nslots_of(document) == resources.nslots
    assert resource_set.hostlist_of(document) == hostlist.encode(resources.hosts)
    allocation = {node.rank: (node.cores, node.gpus) for node in resources.nodes}
    assert resource_set.allocation_of(document) == allocation


@given(resource_sets(), st.data())
def test_an_allocation_comes_back(resources, data):
    """What a job is given of some nodes is what the reader finds in its R."""
    nodes = {node.rank: node for node in resources.nodes}
    ranks = data.draw(st.sets(st.sampled_from(sorted(nodes))))
    allocation = {rank: (nodes[rank].cores, nodes[rank].gpus) for rank in ranks}
    made = resource_set.encode(nodes, allocation, nslots=3, starttime=1.0, expiration=2.0)
    assert resource_set.allocation_of(made) == allocation
    assert {node.rank: node for node in resource_set.nodes_of(made)} == {r: nodes[r] for r in ranks}


def test_an_allocation_as_flux_writes_it():
    """Alike ranks share an entry; properties are those of the ranks that are given."""
    nodes = resource_set.alike(["mc-0", "mc-1", "mc-2"], 4, 1, {"big": (0, 2), "a": (2,)}).nodes
    made = resource_set.encode(nodes, {2: (0b1, 0), 0: (0b1, 0), 1: (0b1110, 0b1)}, nslots=5, starttime=1.5)
    assert made == {
        "version": 1,
        "execution": {
            "R_lite": [
                {"rank": "0,2", "children": {"core": "0"}},
                {"rank": "1", "children": {"core": "1-3", "gpu": "0"}},
            ],
            "nodelist": ["mc-[0-2]"],
            "nslots": 5,
            "properties": {"big": "0,2", "a": "2"},
            "starttime": 1.5,
            "expiration": 0.0,
        },
    }


def test_nothing_is_written_without_hosts():
    """As Flux writes the resources that are down where none are."""
    execution = resource_set.encode((), {})["execution"]
    assert (execution["R_lite"], execution["nodelist"]) == ([], [])


@pytest.mark.parametrize(
    ("allocation", "text"),
    [
        ({}, ""),
        ({0: (1, 0)}, "rank0/core0"),
        ({1: (0b11, 0), 0: (0b11, 0)}, "rank[0-1]/core[0-1]"),
        ({0: (0b101, 0b1), 3: (0b1, 0)}, "rank0/core[0,2],gpu0 rank3/core0"),
    ],
)
def test_summary(allocation, text):
    """The short form of a job's annotation."""
    assert resource_set.summary(allocation) == text


def test_nodes_without_hosts():
    """Flux leaves out the nodelist of some answers."""
    document = {"version": 1, "execution": {"R_lite": [{"rank": "3", "children": {"gpu": "1"}}]}}
    assert resource_set.nodes_of(document) == (Node(3, "", 0, 0b10),)


def test_ranks_of_an_instance_inside_of_a_job_begin_at_0():
    """Hosts keep their order, properties follow their ranks; an instance asked for no slots."""
    nodes = resource_set.alike([f"n{rank}" for rank in range(9)], 2, 0, {"big": (5, 7)}).nodes
    job = resource_set.encode(nodes, {7: (0b10, 0), 5: (0b1, 0)}, nslots=2, starttime=3.0)
    assert resource_set.read(resource_set.reranked(job)) == ResourceSet(
        (Node(0, "n5", 0b1, 0, frozenset({"big"})), Node(1, "n7", 0b10, 0, frozenset({"big"}))),
        {"big": (0, 1)},
        starttime=3.0,
    )


def test_totals():
    """Cores and GPUs over all nodes."""
    assert resource_set.alike(["a", "b"], cores=3, gpus=2).counts == (2, 6, 4)


def test_rfc_example():
    """Ranks need not begin at 0; one hostlist may cover several entries."""
    text = """{"version": 1, "execution": {"R_lite": [
        {"rank": "20-22", "children": {"core": "0-47", "gpu": "0-7"}},
        {"rank": "19", "children": {"core": "0-47"}}],
        "nodelist": ["node186", "node[187-189]"], "nslots": 32, "starttime": 1, "expiration": 3600}}"""
    resources = resource_set.loads(text)
    assert [(node.rank, node.host, idset.size_of(node.gpus)) for node in resources.nodes] == [
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
            "R gives rank 0 (a0) no core",
        ),
        (
            document(R_lite=[{"rank": "0-1", "children": {"core": 3}}]),
            "R, R_lite[0].children.core: there must be a JSON string, not 3",
        ),
        (
            document(R_lite=[{"rank": "0-1", "children": {"core": "0-9999999"}}]),
            "R, R_lite[0].children.core: idset '0-9999999', character 1: more than 4194304 ids",
        ),
        (document(starttime="now"), "R, execution.starttime: there must be a JSON number, not 'now'"),
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
        resource_set.check(resource_set.read(broken))
    assert message in str(caught.value)


def test_not_json():
    """The message is the JSON parser's, which gives the place."""
    with pytest.raises(ResourceSetError, match=r"R is not JSON: .*line 1 column 2"):
        resource_set.loads("{")


def test_an_r_need_not_have_times_and_slots():
    document = {"execution": {"R_lite": []}}
    assert resource_set.times_of(document) == (0.0, 0.0)
    assert (resource_set.nslots_of(document), resource_set.hostlist_of(document)) == (None, "")


def test_an_update_of_r_has_what_changes():
    made = resource_set.to_dict(resource_set.alike(["mc-0"], 4)._replace(nslots=1, starttime=1.5))
    shown = {"R_lite": [{"rank": "0", "children": {"core": "0-3"}}], "nodelist": ["mc-0"], "nslots": 1}
    assert resource_set.update_of(made) == shown
