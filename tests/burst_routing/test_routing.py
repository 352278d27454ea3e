"""Which jobs are routed into the waiting room, which keep their queue, and which are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats.constraints import matches
from broker_config.formats.jobspec import RequestedResources, build, node, set_at, slot
from broker_config.formats.resource_set import Node
from burst.leads.instance_lead import _probe_request
from burst.leads.slot_ranks import SlotRanks
from minicluster import flux_zips
from minicluster.burst_routing.errors import BurstableError, BurstingTableError, RoutingError, SlotQueueError
from minicluster.burst_routing.routing import PROBE, Routing, configured, fits, route
from minicluster.instance.jobspec import jobspec
from queue_policies.nodes.feasibility import infeasible
from queue_policies.nodes.pool import Pool

ROUTING = Routing({"burst-0": {(2, 0): 3}, "burst-1": {(8, 0): 1}}, "default", {(2, 1): 2})
"""Two nodes of two cores and a GPU; one slot has three nodes, and another a large one."""
CLOSED = (
    "queue burst-0 is for bursts: submit with --setattr=burstable, the job is moved there when its nodes"
    " are up"
)


def spec(nodes: int = 3, **system: Any) -> Any:
    return build(["true"], node(nodes, slot(1, 1), exclusive=True), {"per_slot": 1}, system)


@pytest.mark.parametrize("burstable", [True, 1, "research", "true", "a-1.b"])
@pytest.mark.parametrize("queue", [{}, {"queue": "default"}], ids=["no queue", "default"])
def test_what_never_fits_waits_for_a_burst(burstable: object, queue: Any) -> None:
    assert route(spec(burstable=burstable, **queue), ROUTING) == "burst"


@pytest.mark.parametrize(
    "kept",
    [
        pytest.param(spec(), id="not burstable"),
        pytest.param(spec(burstable=False), id="false"),
        pytest.param(spec(burstable=0), id="0"),
        pytest.param(spec(nodes=2, burstable=True), id="it fits"),
        pytest.param(spec(nodes=4, burstable=True), id="no slot has so many nodes"),
        pytest.param(spec(burstable=True, queue="debug"), id="another queue"),
        pytest.param(spec(burstable=True, queue="burst"), id="the waiting room"),
        pytest.param(spec(burstable=True, constraints={"properties": ["local"]}), id="its own constraints"),
        pytest.param(spec(burstable=True, constraints={}), id="empty ones"),  # Flux adds to them by `and`
        pytest.param(spec(queue="burst-2"), id="no slot's queue"),
        pytest.param("no object", id="no object"),
    ],
)
def test_other_jobs_keep_their_queue(kept: Any) -> None:
    assert route(kept, ROUTING) is None


@pytest.mark.parametrize("wrong", [2, -1, [], "", "a b", "a_b", None, 1.5, {}, "ä"])
def test_another_attribute_is_refused(wrong: object) -> None:
    """In any queue."""
    with pytest.raises(BurstableError) as refusal:
        route(spec(burstable=wrong, queue="debug"), ROUTING)
    assert str(refusal.value) == f"burstable: {wrong!r}: true, false or the name of a provider is right"


@pytest.mark.parametrize(
    "more", [{}, {"burstable": True}, {"minicluster": {"probe": ""}}, {"minicluster": 3}]
)
def test_a_slots_queue_is_closed(more: Any) -> None:
    with pytest.raises(SlotQueueError) as refusal:
        route(spec(queue="burst-0", **more), ROUTING)
    assert str(refusal.value) == CLOSED


def test_the_services_own_jobs_run_there() -> None:
    """Those that try a rank, as the service submits them."""
    request = _probe_request("burst-0", "aaaaaaaaaa", 1, SlotRanks(2, 2, 1))
    made = jobspec(request)
    assert made["attributes"]["system"]["minicluster"] == {PROBE.partition(".")[2]: "aaaaaaaaaa"}
    assert route(made, ROUTING) is None


def test_one_more_worker_of_a_job_there_runs_there() -> None:
    """On real Flux it is a job of its own, with the jobspec of its base job."""
    companion = spec(queue="burst-0", burstable=True)
    set_at(companion, ("attributes", "user"), {"companion_of": "ƒ1", "task": 3})
    assert route(companion, ROUTING) is None


def test_an_elastic_job_fits_by_its_least_size() -> None:
    elastic = spec(nodes=8, burstable=True)
    set_at(elastic, ("attributes", "user", "elastic"), {"min": 2, "max": 8})
    assert route(elastic, ROUTING) is None
    set_at(elastic, ("attributes", "user", "elastic", "min"), 3)
    assert route(elastic, ROUTING) == "burst"


@given(
    shapes=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=4),
    asked=st.builds(
        RequestedResources,
        nodes=st.integers(0, 4),
        slots=st.integers(1, 9),
        cores=st.integers(1, 3),
        gpus=st.integers(0, 2),
        exclusive=st.booleans(),
    ),
)
def test_it_fits_as_the_schedulers_count(shapes: list[tuple[int, int]], asked: RequestedResources) -> None:
    nodes = [Node(rank, "", (1 << cores) - 1, (1 << gpus) - 1) for rank, (cores, gpus) in enumerate(shapes)]
    local = {shape: shapes.count(shape) for shape in shapes}
    assert fits(asked, local) is (infeasible(Pool(nodes, matches), asked) is None)


NODES = [
    Node(0, "mc-0", 0b11, 0b1, frozenset({"local"})),
    Node(1, "mc-1", 0b1110, 0, frozenset({"local", "fast"})),
    Node(2, "mc-2", 0b1100, 0b10, frozenset({"local"})),
    Node(3, "burst-0-0", 0b11, 0, frozenset({"burst", "burst-0"})),
]
QUEUE = {"policy": {"jobspec": {"defaults": {"system": {"queue": "default"}}}}}


def test_the_configuration_has_slots_and_r_the_local_nodes() -> None:
    config = {"minicluster": {"bursting": {"slots": ["burst-0"]}}, **QUEUE}
    assert configured(config, NODES) == Routing({"burst-0": {(2, 0): 1}}, "default", {(2, 1): 2, (3, 0): 1})


@pytest.mark.parametrize("config", [{}, {"minicluster": {"queue-policy": "easy"}}])
def test_nothing_is_routed_where_nobody_manages_bursts(config: Any) -> None:
    assert configured(config, NODES) is None


@pytest.mark.parametrize("table", [3, {}, {"slots": "burst-0"}, {"slots": [3]}])
def test_a_wrong_table_is_named(table: Any) -> None:
    with pytest.raises(BurstingTableError) as error:
        configured({"minicluster": {"bursting": table}}, NODES)
    assert str(error.value) == (
        'broker.toml, [minicluster.bursting]: slots = ["burst-0"] is right, their names'
    )


def test_fluxs_ingest_passes_on_the_text_of_a_value_error() -> None:
    assert issubclass(RoutingError, ValueError)


PLAYED = """
import json, sys, types
sys.path = [path for path in sys.path if "site-packages" not in path]
for name in ("flux", "flux.job", "flux.job.frobnicator"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["flux.job.frobnicator"].FrobnicatorPlugin = type(
    "Base", (), {"__init__": lambda self, parser: None}
)
class Jobspec:
    def __init__(self, jobspec): self.jobspec = jobspec
    def setattr(self, name, value): print(name, value)
import importlib.util
found = importlib.util.spec_from_file_location("burst", sys.argv[1])
module = importlib.util.module_from_spec(found)
found.loader.exec_module(module)
plugin = module.Frobnicator(None)
plugin.configure(None, config=json.loads(sys.argv[2]))
for text in sys.argv[3:]:
    plugin.frob(Jobspec(json.loads(text)), 1000, 16, 0)
"""


def test_the_frobnicator_runs_from_the_zip_beside_it(tmp_path: Any) -> None:
    """In a Python that has no other path, as Flux calls it."""
    (tmp_path / flux_zips.ZIP).write_bytes(flux_zips.pack())
    for name, text in flux_zips.burst_files().items():
        (tmp_path / name).write_text(text)
    execution = {"R_lite": [{"rank": "0-4", "children": {"core": "0-1"}}]}
    execution |= {"nodelist": ["mc-[0-1],burst-0-[0-2]"], "properties": {"local": "0-1", "burst-0": "2-4"}}
    (tmp_path / "R").write_text(json.dumps({"version": 1, "execution": execution}))
    config = {
        "resource": {"path": str(tmp_path / "R")},
        "minicluster": {"bursting": {"slots": ["burst-0"]}},
        **QUEUE,
    }
    jobs = (spec(burstable=1, queue="default"), spec(nodes=2, burstable=1), spec())
    words = [str(tmp_path / flux_zips.BURST_FILE), *map(json.dumps, (config, *jobs))]
    command = [sys.executable, "-I", "-S", "-c", PLAYED, *words]
    assert subprocess.check_output(command, text=True) == "system.queue burst\n"
