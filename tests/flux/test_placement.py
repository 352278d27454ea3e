"""Where jobs go on real Flux by placements of ours. hwloc plays nodes of eight cores in two domains."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats import idset
from broker_config.formats.constraints import matches
from broker_config.formats.resource_set import Node
from minicluster.flux_scheduler.task_shapes import parsed_with_shape
from queue_policies.nodes.pool import Pool
from queue_policies.placement.distribution import distribute
from queue_policies.placement.plugins import load
from tests.flux.placed import SLEEP, request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.flux.placed import PlacedInstance

TWO_DOMAINS = "numa:2 core:4 pu:1"
NODES = 4
ARRIVALS = [
    request(4, affinity="off", profile="memory"),
    request(2, affinity="off", profile="network"),
    request(8, affinity="off", profile="memory", workers=2),
    request(3, affinity="off", profile="cpu"),
    request(2, nodes=2, affinity="off"),
    request(2, cores=2, affinity="off", profile="cpu", workers=2),
    request(1, affinity="off"),
]
"""Their tasks are not bound, as these cores do not exist."""


@pytest.fixture(scope="module")
def nodes(brokers: Callable[..., PlacedInstance]) -> PlacedInstance:
    return brokers(NODES, 8, "low-rank", {"HWLOC_SYNTHETIC": TWO_DOMAINS})


@pytest.fixture
def instance(nodes: PlacedInstance) -> Iterator[PlacedInstance]:
    yield nodes
    nodes.clear()


def pool_of(placement: str) -> Pool:
    """The same nodes, for the code by which the simulator places."""
    made = [Node(rank, f"mc-{rank}", 0xFF, domains=(0x0F, 0xF0)) for rank in range(NODES)]
    pool = Pool(made, matches, load(placement, {"affinity": "best-effort"}))
    for rank in range(NODES):
        pool.mark(rank, up=True)
    return pool


@pytest.mark.parametrize("placement", ["balanced", "task-group", "pack"])
def test_the_same_arrivals_get_the_same_cores(instance: PlacedInstance, placement: str) -> None:
    instance.reconfigure(placement=placement, affinity="best-effort")
    instance.knows_domains(2 * NODES)
    jobs = [instance.submit(spec, *SLEEP) for spec in ARRIVALS]
    pool = pool_of(placement)
    expected = [pool.alloc(number, parsed_with_shape(spec).resources) for number, spec in enumerate(ARRIVALS)]
    assert [instance.allocation(job) for job in jobs] == expected


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(request(8, nodes=1, affinity="dry-run", workers=3), id="3 workers on one node"),
        pytest.param(request(4, nodes=NODES, affinity="dry-run", workers=8), id="8 workers on four nodes"),
        pytest.param(request(4, nodes=NODES, affinity="dry-run", workers=16), id="16 workers on four nodes"),
    ],
)
def test_tasks_are_numbered_worker_by_worker(instance: PlacedInstance, spec: Any) -> None:
    """Ranks ascending, as Algorithm 2 divides them; each task has the CPUs of its worker."""
    instance.reconfigure(placement="pack", affinity="best-effort")
    instance.knows_domains(2 * NODES)
    pool, wanted = pool_of("pack"), parsed_with_shape(spec).resources
    divided = pool.workers_of(wanted, pool.place(wanted) or {}).values()
    workers = [worker for on_rank in divided for worker in on_rank]
    expected = [idset.encode_bits(each.cores) for each in workers for _ in range(each.tasks)]
    assert instance.planned(spec) == dict(enumerate(expected))


@pytest.mark.parametrize(("tasks", "workers"), [(4, 1), (16, 3), (16, 16)])
def test_workers_over_four_brokers(instance: PlacedInstance, tasks: int, workers: int) -> None:
    """Their shells have the CPUs of R, and PMI's ranks are in the order of Algorithm 2."""
    instance.reconfigure(placement="task-group", affinity="best-effort")
    instance.knows_domains(2 * NODES)
    spec = request(tasks, affinity="dry-run", workers=workers)
    pool, wanted = pool_of("task-group"), parsed_with_shape(spec).resources
    job = instance.submit(spec, "sh", "-c", "echo $PMI_RANK $MINICLUSTER_WORKER")
    shown = instance.pods.ran("job", "attach", job)
    allocation = instance.allocation(job)
    assert allocation == pool.place(wanted)
    shells = dict(re.findall(r"flux-shell\[(\d+)\].* cpu-affinity: cpus: (\S+)", shown.stderr))
    assert [shells[str(number)] for number in range(len(allocation))] == [
        idset.encode_bits(allocation[rank][0]) for rank in sorted(allocation)
    ]
    seen = sorted(tuple(map(int, line.split())) for line in shown.stdout.splitlines())
    assert [task for task, _ in seen] == [*range(tasks)]
    assert [*Counter(worker for _, worker in seen).items()] == [*enumerate(distribute(tasks, workers))]


@pytest.mark.parametrize(
    ("spec", "cpus"),
    [
        pytest.param(request(4, affinity="dry-run", workers=4), ["0", "1", "2", "3"], id="a task each"),
        pytest.param(
            request(8, affinity="dry-run", workers=2), ["0-3"] * 4 + ["4-7"] * 4, id="two of four tasks"
        ),
        pytest.param(
            request(2, nodes=2, affinity="dry-run", workers=4), ["0", "1", "0", "1"], id="on two nodes"
        ),
    ],
)
def test_shells_get_a_map_of_the_workers_cpus(instance: PlacedInstance, spec: Any, cpus: list[str]) -> None:
    """By R, as the option is given before the cores are known."""
    instance.reconfigure(placement="pack", affinity="best-effort")
    instance.knows_domains(2 * NODES)
    assert instance.planned(spec) == dict(enumerate(cpus))


def test_a_running_job_keeps_its_profile(instance: PlacedInstance) -> None:
    """When the scheduler is loaded again: jobs with much input and output get nodes of their own."""
    instance.reconfigure(placement="balanced", affinity="best-effort")
    instance.knows_domains(2 * NODES)
    first, second = (request(slots, affinity="off", profile="io") for slots in (2, 4))
    before = instance.allocation(instance.submit(first, *SLEEP))
    instance.reconfigure(placement="balanced", affinity="best-effort")
    instance.knows_domains(2 * NODES)
    pool = pool_of("balanced")
    jobs = enumerate((first, second))
    expected = [pool.alloc(number, parsed_with_shape(each).resources) for number, each in jobs]
    assert [before, instance.allocation(instance.submit(second, *SLEEP))] == expected
