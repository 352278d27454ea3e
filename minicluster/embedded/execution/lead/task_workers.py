"""The task workers of a rank, and the CPUs of its cores, as the rank is sent them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_config.formats.idset import ids_of
from minicluster.embedded.execution.cpu_binding import BY_WORKERS, SHARED
from minicluster.embedded.execution.rank_launch import RankWorker
from queue_policies.placement.distribution import distribute

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from minicluster.embedded.execution.lead.cpu_table import RankCpus
    from minicluster.embedded.execution.rank_launch import RankLaunch
    from minicluster.embedded.jobs.taskmap import NodeTasks
    from minicluster.embedded.ports import Launch
    from queue_policies.nodes.records import Slot
    from queue_policies.placement.workers import TaskWorker


def of_nodes(launch: Launch, nodes: Sequence[NodeTasks]) -> Mapping[int, tuple[RankWorker, ...]]:
    """Return the workers of a job that starts, by rank. They are numbered over the ranks, as tasks are."""
    if launch.credentials is not None:
        return {node.rank: tuple(_one_each(node)) for node in nodes if node.tasks}
    found: dict[int, tuple[RankWorker, ...]] = {}
    number = 0
    for node in nodes:
        workers = launch.workers.get(node.rank, ())
        if workers and node.tasks:
            found[node.rank] = tuple(_divided(node, workers, number))
            number += len(workers)
    return found


def of_slots(slots: Mapping[int, Slot]) -> tuple[RankWorker, ...]:
    """Return a worker for each task by which a malleable job grows: it has the cores of its slot."""
    return tuple(RankWorker((task,), ids_of(slot.resources[0])) for task, slot in slots.items())


def _one_each(node: NodeTasks) -> Iterator[RankWorker]:
    each = len(node.cores) // len(node.tasks)
    for index, task in enumerate(node.tasks):
        yield RankWorker((task,), node.cores[index * each : (index + 1) * each])


def _divided(node: NodeTasks, workers: Sequence[TaskWorker], first: int) -> Iterator[RankWorker]:
    counts = [worker.tasks for worker in workers]
    if sum(counts) != len(node.tasks):  # tasks are counted in another way than one a slot
        counts = distribute(len(node.tasks), len(workers))
    begin = 0
    for number, (worker, count) in enumerate(zip(workers, counts, strict=True), first):
        yield RankWorker(node.tasks[begin : begin + count], ids_of(worker.cores), number)
        begin += count


def with_cpus(rank_launch: RankLaunch, launch: Launch, cpus: RankCpus) -> RankLaunch:
    """Return what a rank is to start, with the CPUs of its cores, and with what holds for them by default."""
    if not cpus.by_core:  # the workers of a malleable job are for its CPUs alone
        return rank_launch if launch.credentials is None else replace(rank_launch, workers=())
    default = SHARED if cpus.why_not_own else BY_WORKERS if rank_launch.workers else "on"
    return replace(
        rank_launch,
        cpus=tuple(cpus.by_core[core] for core in rank_launch.cores),
        affinity="off" if launch.floats else default,
    )
