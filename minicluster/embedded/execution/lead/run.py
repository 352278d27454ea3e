"""A job whose processes live, as the lead sees it. Tasks of a malleable one come and go."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from broker_config.formats import jobid
from broker_config.formats.jobspec import command_of, shell_options, system_of
from minicluster.embedded.execution.lead import task_workers
from minicluster.embedded.execution.rank_launch import RankLaunch
from minicluster.embedded.jobs import elastic, taskmap

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping

    from minicluster.embedded.execution.lead.cpu_table import CpuTable
    from minicluster.embedded.execution.rank_launch import RankWorker
    from minicluster.embedded.ports import JobEvents, Launch
    from queue_policies.nodes.records import Slot

CREDENTIALS = "malleable.json"
"""The credentials file of a malleable job's program, in the job's temporary directory."""


@dataclass(slots=True)
class ElasticWorkers:
    """The additional state of a malleable job."""

    launch: Launch
    numbers: dict[int, int]
    """The index of each rank among the job's ranks; it never changes."""
    first: frozenset[int]
    """The ranks of the job's start."""
    parts: dict[int, int] = field(default_factory=dict)
    """By rank: how often tasks were started there since the job's start."""
    ended: dict[int, int] = field(default_factory=dict)
    """The statuses of ended tasks whose end counts."""
    exempt: dict[int, Slot] = field(default_factory=dict)
    """The tasks whose end does not count, with their slots."""


@dataclass(slots=True)
class Run:
    """A job whose processes live."""

    id: int
    events: JobEvents
    nodes: dict[int, taskmap.NodeTasks]
    """By broker rank."""
    command: str
    """The program's base name, for messages."""
    exit_timeout: float
    """Seconds that other tasks have once the first has ended; 0: no limit."""
    starting: set[int]
    """Ranks that have not reported that their tasks run."""
    running: set[int]
    """Ranks that are not done with the job."""
    status: int = 0
    """The greatest wait status of a task so far, or that of the task that failed the job."""
    ended_tasks: int = 0
    started: bool = False
    """Whether all ranks of the start have reported."""
    failed: bool = False
    """Whether a fatal exception was raised from here."""
    barrier: set[int] = field(default_factory=set)
    """Ranks whose tasks are all in the PMI barrier."""
    puts: dict[str, str] = field(default_factory=dict)
    """What tasks put into the PMI store since the last barrier."""
    exit_timer: asyncio.TimerHandle | None = None
    """Of the exit timeout, which the first task's end begins."""
    waiting: int | None = None
    """The rank that writes the others' output files and is done itself."""
    status_known: bool = False
    """Whether the status is of the task that failed the job: those killed for it do not count."""
    elastic: ElasticWorkers | None = None
    """None: the job is not malleable."""
    limited: dict[int, dict[int, str]] = field(default_factory=dict)
    """By the number of a CPU limit: on which ranks it holds, and by what."""

    @property
    def size(self) -> int:
        """Return the number of tasks."""
        return sum(len(node.tasks) for node in self.nodes.values())

    @property
    def at_barrier(self) -> bool:
        """Whether all ranks of the job's start have reached the barrier."""
        first = frozenset(self.nodes) if self.elastic is None else self.elastic.first & self.running
        return self.barrier >= {rank for rank in first if self.nodes[rank].tasks}

    def rank_launches(self, launch: Launch, cpus: CpuTable) -> Mapping[int, RankLaunch]:
        """Return what each rank is to start."""
        nodes = list(self.nodes.values())
        workers = task_workers.of_nodes(launch, nodes)
        return {
            node.rank: task_workers.with_cpus(
                _rank_launch(launch, nodes, node, index, workers.get(node.rank, ())),
                launch,
                cpus.of(node.rank),
            )
            for index, node in enumerate(nodes)
            if node.tasks
        }

    # Of malleable jobs

    def add(
        self, order: int, slots: Mapping[int, Slot], hosts: Mapping[int, str], cpus: CpuTable
    ) -> Mapping[int, RankLaunch]:
        """Add further tasks, and return what their ranks are to start."""
        workers = self._workers()
        for task, slot in slots.items():
            rank = slot.rank
            node = self.nodes.get(rank) or taskmap.NodeTasks(rank, hosts[rank], (), (), ())
            self.nodes[rank] = elastic.with_task(node, task, slot)
            workers.exempt[task] = slot
        ranks = sorted({slot.rank for slot in slots.values()})
        nodes = list(self.nodes.values())
        found = {}
        for rank in ranks:
            number = workers.numbers.setdefault(rank, len(workers.numbers))
            workers.parts[rank] = workers.parts.get(rank, 0) + 1
            here = {task: slot for task, slot in slots.items() if slot.rank == rank}
            fresh = task_workers.of_slots(here)
            rank_launch = _rank_launch(workers.launch, nodes, self.nodes[rank], number, fresh)
            found[rank] = replace(
                task_workers.with_cpus(rank_launch, workers.launch, cpus.of(rank)),
                options={**rank_launch.options, "pmi": "none"},  # it counts the tasks of the start
                order=order,
                part=workers.parts[rank],
                fresh=tuple(here),
            )
        self.running.update(ranks)
        return found

    def admit(self, tasks: Iterable[int]) -> None:
        """Count the ends of these tasks from now on."""
        for task in tasks:
            self._workers().exempt.pop(task, None)

    def dismiss(self, slots: Mapping[int, Slot]) -> None:
        """Do not count the ends of these tasks any more, nor those that were counted."""
        workers = self._workers()
        workers.exempt.update(slots)
        for task in workers.ended.keys() & slots:
            del workers.ended[task]
            self.ended_tasks -= 1
            self.drop(slots[task].rank, task)
        if not self.status_known:
            self.status = max(workers.ended.values(), default=0)
        if self.exit_timer is not None and not workers.ended:
            self.exit_timer.cancel()
            self.exit_timer = None

    def drop(self, rank: int, task: int) -> bool:
        """Remove a task that has ended; return False, and do nothing, where its end counts."""
        slot = self.elastic.exempt.pop(task, None) if self.elastic is not None else None
        if slot is None:
            return False
        self.nodes[rank] = elastic.without_task(self.nodes[rank], task, slot)
        if rank not in self.running:
            self.leave(rank)
        return True

    def is_stale(self, rank: int, part: int) -> bool:
        """Whether a rank reported its end before it got its latest tasks."""
        return self.elastic is not None and self.elastic.parts.get(rank, 0) != part

    def leave(self, rank: int) -> None:
        """Note that a rank has no processes of the job any more."""
        self.running.discard(rank)
        self.starting.discard(rank)
        if self.elastic is not None and rank in self.nodes and not self.nodes[rank].tasks:
            del self.nodes[rank]

    def _workers(self) -> ElasticWorkers:
        if self.elastic is None:
            raise AssertionError(f"job {self.id} is not malleable")
        return self.elastic


def elastic_workers(launch: Launch, nodes: Iterable[taskmap.NodeTasks]) -> ElasticWorkers | None:
    """Return the additional state of a malleable job at its start; None for another job."""
    if launch.credentials is None:
        return None
    numbers = {node.rank: index for index, node in enumerate(nodes)}
    return ElasticWorkers(launch, numbers, frozenset(numbers))


def _rank_launch(
    launch: Launch,
    nodes: list[taskmap.NodeTasks],
    node: taskmap.NodeTasks,
    number: int,
    workers: tuple[RankWorker, ...],
) -> RankLaunch:
    system = system_of(launch.jobspec)
    argv = command_of(launch.jobspec)
    files = system.get("files", {})
    if launch.credentials is not None:
        files = files | {CREDENTIALS: {"data": launch.credentials, "mode": 0o400}}
    return RankLaunch(
        id=launch.id,
        f58=jobid.f58(launch.id),
        argv=tuple(argv),
        env=system.get("environment", {}),
        cwd=system.get("cwd", "/"),
        name=system.get("job", {}).get("name") or os.path.basename(argv[0]),  # noqa: PTH119 - a name, not a file
        size=sum(len(each.tasks) for each in nodes),
        nodes=len(nodes),
        node=number,
        tasks=node.tasks,
        cores=node.cores,
        gpus=node.gpus,
        options=shell_options(launch.jobspec),
        files=files,
        mapping=taskmap.process_mapping(nodes),
        credentials=None if launch.credentials is None else CREDENTIALS,
        owner=os.getuid(),
        workers=workers,
        limit=None if launch.limits is None else launch.limits.get(node.rank),
    )
