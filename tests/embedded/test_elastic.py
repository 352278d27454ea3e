"""`attributes.user.elastic`: what is refused, what is read, and which worker gets what."""

from __future__ import annotations

from typing import Any

import pytest

from broker_config.formats import jobspec
from broker_config.formats.constraints import matches
from broker_config.formats.errors import JobspecError
from broker_config.formats.jobspec import RequestedResources, Sizes
from broker_config.formats.resource_set import encode, nodes_of
from minicluster.embedded.jobs import elastic, taskmap
from queue_policies.nodes.feasibility import counted_cores
from queue_policies.nodes.pool import Pool
from queue_policies.nodes.records import Slot
from queue_policies.nodes.slots import allocation_of, slots_of

WHERE = "attributes.user.elastic"


def spec(table: Any, slots: int = 1, nodes: int = 0, cores: int = 1, **count: int) -> dict[str, Any]:
    slot: dict[str, Any] = {
        "type": "slot", "count": slots, "with": [{"type": "core", "count": cores}], "label": "task"
    }  # fmt: skip
    return {
        "resources": [{"type": "node", "count": nodes, "with": [slot]} if nodes else slot],
        "tasks": [{"command": ["app"], "slot": "task", "count": count or {"per_slot": 1}}],
        "attributes": {"system": {"duration": 0}, "user": {"elastic": table}},
        "version": 1,
    }


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (3, f"{WHERE} must be a mapping with min, max and perhaps malleable"),
        ({"max": 2}, f"{WHERE}.min is missing: a least and a largest size are needed"),
        ({"min": 2}, f"{WHERE}.max is missing: a least and a largest size are needed"),
        ({"min": 0, "max": 2}, f"{WHERE}.min must be an integer > 0, not 0"),
        ({"min": 1, "max": "2"}, f"{WHERE}.max must be an integer > 0, not '2'"),
        ({"min": True, "max": 2}, f"{WHERE}.min must be an integer > 0, not True"),
        ({"min": 3, "max": 2}, f"{WHERE}: min 3 is greater than max 2"),
        ({"min": 1, "max": 2, "malleable": "yes"}, f"{WHERE}.malleable must be true or false, not 'yes'"),
        ({"min": 1, "max": 2, "mal": 1}, f"{WHERE}: unknown key 'mal': min, max and malleable are known"),
    ],
)
def test_refused_tables(table: Any, message: str) -> None:
    with pytest.raises(JobspecError) as error:
        jobspec.parse(spec(table))
    assert str(error.value) == message


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param({"total": 3}, id="a total number of tasks"),
        pytest.param({"per_slot": 2}, id="two tasks a slot"),
        pytest.param({"nodes": 2, "slots": 2}, id="two slots a node"),
    ],
)
def test_tasks_are_one_a_slot_or_one_a_node(shape: dict[str, int]) -> None:
    with pytest.raises(JobspecError, match="an elastic job runs one task a slot"):
        jobspec.parse(spec({"min": 1, "max": 2}, **shape))


def test_tasks_a_node_by_a_shell_option_are_refused() -> None:
    given = spec({"min": 1, "max": 2})
    given["attributes"]["system"]["shell"] = {"options": {"per-resource": {"type": "core"}}}
    with pytest.raises(JobspecError, match="an elastic job runs one task a slot"):
        jobspec.parse(given)


@pytest.mark.parametrize("user", [None, [], {}, {"elastic": None}, {"other": 1}])
def test_without_a_table_a_job_is_rigid(user: Any) -> None:
    given = spec({})
    given["attributes"]["user"] = user
    assert jobspec.parse(given).elastic is None


@pytest.mark.parametrize(
    ("shape", "asked"),
    [
        pytest.param({"slots": 7, "cores": 2}, RequestedResources(0, 2, 2, 0), id="slots"),
        pytest.param({"nodes": 7}, RequestedResources(2, 1, 1, 0), id="nodes"),
    ],
)
def test_a_job_asks_for_its_least_size(shape: dict[str, int], asked: RequestedResources) -> None:
    """The number on the command line does not count."""
    parsed = jobspec.parse(spec({"min": 2, "max": 5, "malleable": True}, **shape))
    assert (parsed.elastic, parsed.resources, parsed.ntasks) == (Sizes(2, 5, malleable=True), asked, 2)


@pytest.mark.parametrize(
    ("request_", "size", "sized"),
    [
        (RequestedResources(0, 1, 1, 0), 3, RequestedResources(0, 3, 1, 0)),
        (RequestedResources(0, 1, 2, 1), 5, RequestedResources(0, 2, 2, 1)),
        (RequestedResources(1, 1, 4, 0, exclusive=True), 11, RequestedResources(2, 1, 4, 0, exclusive=True)),
        (RequestedResources(2, 3, 2, 0), 13, RequestedResources(2, 3, 2, 0)),
    ],
)
def test_sizes_round_down_to_what_the_job_counts(
    request_: RequestedResources, size: int, sized: RequestedResources
) -> None:
    assert request_.sized(size) == sized


R = {
    "execution": {
        "R_lite": [
            {"rank": "0-1", "children": {"core": "0-3", "gpu": "0-1"}},
            {"rank": "2", "children": {"core": "0-5"}},
        ],
        "nodelist": ["n[0-2]"],
    }
}


def _pool() -> Pool:
    pool = Pool(nodes_of(R), matches)
    for rank in range(3):
        pool.mark(rank, up=True)
    return pool


@pytest.mark.parametrize(
    ("asked", "counted"),
    [
        pytest.param(RequestedResources(1, 1, 1, 0, exclusive=True), 4, id="of the smallest node"),
        pytest.param(RequestedResources(1, 1, 5, 0, exclusive=True), 6, id="of those that suit"),
        pytest.param(
            RequestedResources(1, 1, 1, 0, exclusive=True, constraint=("ranks", "2")), 6, id="that match"
        ),
        pytest.param(RequestedResources(1, 1, 9, 0, exclusive=True), 9, id="none suits"),
        pytest.param(RequestedResources(1, 1, 1, 0), 1, id="cores of a node"),
    ],
)
def test_whole_nodes_count_with_all_their_cores(asked: RequestedResources, counted: int) -> None:
    assert asked.slots_in_all * counted_cores(_pool(), asked) == counted


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(RequestedResources(0, 5, 2, 0), id="slots"),
        pytest.param(RequestedResources(0, 3, 1, 1), id="slots with a GPU"),
        pytest.param(RequestedResources(3, 1, 2, 0), id="nodes"),
        pytest.param(RequestedResources(2, 1, 4, 0, exclusive=True), id="whole nodes"),
    ],
)
def test_each_worker_has_the_rank_where_its_task_runs(asked: RequestedResources) -> None:
    allocation = _pool().alloc(1, asked)
    assert allocation is not None
    slots = slots_of(allocation, asked)
    given = encode(nodes_of(R), allocation, nslots=asked.slots_in_all)
    shape = {"slots": asked.slots, "cores": asked.cores} | ({"nodes": asked.nodes} if asked.nodes else {})
    laid_out = taskmap.layout(spec(None, **shape), given)
    assert [slot.rank for slot in slots] == [node.rank for node in laid_out for _ in node.tasks]
    assert allocation_of(slots) == allocation


def test_a_task_comes_and_goes() -> None:
    node = taskmap.NodeTasks(1, "n1", (0,), (0, 1), (0,))
    slot = Slot(1, (0b1100, 0b10))
    more = elastic.with_task(node, 7, slot)
    assert more == taskmap.NodeTasks(1, "n1", (0, 7), (0, 1, 2, 3), (0, 1))
    assert elastic.without_task(more, 7, slot) == node


@pytest.mark.parametrize(
    "allocated", [RequestedResources(0, 2, 1, 0), RequestedResources(2, 1, 1, 0)], ids=["slots", "nodes"]
)
def test_a_pool_gives_more_and_takes_it_back(allocated: RequestedResources) -> None:
    pool = _pool()
    before = pool.alloc(1, allocated)
    more = pool.extend(1, allocated.with_workers(1))
    assert more is not None
    assert pool.free == 14 - 3
    assert not (allocated.nodes and more.keys() & (before or {}).keys())  # a node more is another node
    pool.reduce(1, more)
    assert (pool.allocation(1), pool.free) == (before, 12)
    assert pool.extend(1, allocated.with_workers(13 if not allocated.nodes else 2)) is None
