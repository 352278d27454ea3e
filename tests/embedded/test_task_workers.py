"""The CPUs of each task on four brokers with four virtual CPUs each: what the kernel is asked for.

Lead and ranks are the real ones, in this process; the tasks are real processes, which are not bound.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from broker_config.formats.constraints import matches
from broker_config.formats.jobspec import RequestedResources
from broker_config.formats.resource_set import Node, encode
from minicluster.embedded.execution.broker_cpus import BrokerCpus
from minicluster.embedded.execution.lead.cpu_table import CpuTable
from minicluster.embedded.execution.lead.execution import Execution
from minicluster.embedded.execution.processes import Reaper
from minicluster.embedded.execution.rank.rank_job import RankSettings
from minicluster.embedded.execution.rank.spawn import BrokerEnv
from minicluster.embedded.execution.rank.tasks import Tasks
from minicluster.embedded.ports import Launch
from queue_policies.nodes.node_states import replace_node
from queue_policies.nodes.pool import Pool
from queue_policies.nodes.records import Slot
from queue_policies.placement import plugins
from queue_policies.placement.records import TaskShape

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
    from pathlib import Path

    from minicluster.embedded.overlay.overlay import LeadOverlay, MessageReceiver

RANKS, CORES = 4, 4
NODES = tuple(Node(rank, f"mc-{rank}", (1 << CORES) - 1) for rank in range(RANKS))
HOSTS = {node.rank: node.host for node in NODES}
SHOW = 'echo "$PMI_RANK $MINICLUSTER_WORKER"; read -r line'


def cpus_of(rank: int) -> BrokerCpus:
    """Those of a broker, in two domains: rank 1 has the CPUs 4 to 7."""
    first = rank * CORES
    return BrokerCpus("m", tuple(range(first, first + 4)), ((first, first + 1), (first + 2, first + 3)))


class StarEnd:
    """One party's end of a network that delivers at once."""

    def __init__(self, ends: dict[str, StarEnd], name: str, rank: int) -> None:
        self.handlers: dict[str, MessageReceiver] = {}
        self._ends, self._name, self._rank = ends, name, rank
        ends[name] = self

    def on(self, kind: str, handler: MessageReceiver) -> None:
        self.handlers[kind] = handler

    def send(self, rank: int, message: Mapping[str, Any], body: bytes | None = None) -> bool:
        to = self._ends[f"rank {rank}" if self._name == "lead" else "lead"]
        asyncio.get_running_loop().call_soon(to.handlers[message["type"]], self._rank, message, body or b"")
        return True


class JobOutput:
    """Keeps what tasks print, and knows when a job's tasks have printed a line, and when it is over."""

    def __init__(self) -> None:
        self.lines: dict[int, str] = {}
        self.over = asyncio.Event()
        self._changed = asyncio.Event()

    def output(self, _job: int, task: int, _stream: str, data: bytes) -> None:
        self.lines[task] = data.decode().strip()
        self._changed.set()

    def released(self, _job: int) -> None:
        self.over.set()

    def __getattr__(self, name: str) -> Any:
        return lambda *_args: None

    async def printed(self, tasks: int) -> list[tuple[str, ...]]:
        """Wait for so many tasks; return the words that each printed, by task."""
        async with asyncio.timeout(60):
            while len(self.lines) < tasks:
                self._changed.clear()
                await self._changed.wait()
        return [tuple(self.lines[task].split()) for task in sorted(self.lines)]


class Machine:
    """Four brokers, the lead's pool, and by rank what the kernel was asked for, in order."""

    def __init__(self, directory: Path, placement: str) -> None:
        table = CpuTable(NODES)
        self.pool = Pool(NODES, matches, plugins.load(placement, {"affinity": "best-effort"}))
        ends: dict[str, StarEnd] = {}
        self.asked: dict[int, list[set[int]]] = {rank: [] for rank in HOSTS}
        lead = cast("LeadOverlay", StarEnd(ends, "lead", 0))
        self.execution = Execution(lead, table, lambda _level, _text: None)
        reaper = Reaper()
        reaper.open()
        self._ranks = []
        for rank, host in HOSTS.items():
            self.pool.mark(rank, up=True)
            for each, domains in table.join(rank, cpus_of(rank)).items():
                replace_node(self.pool, cast("Node", self.pool.nodes[each])._replace(domains=domains))
            broker = BrokerEnv("local:///x", directory / host, "marker")
            settings = RankSettings(host, broker, reaper, 0.3, self._binder(rank))
            self._ranks.append(Tasks(cast("Any", StarEnd(ends, f"rank {rank}", rank)), settings))

    def _binder(self, rank: int) -> Any:
        @contextmanager
        def bind(cpus: Collection[int]) -> Iterator[None]:
            self.asked[rank].append(set(cpus))
            yield

        return bind

    def start(
        self, job: int, tasks: int, workers: int = 0, *, malleable: bool = False, **options: Any
    ) -> JobOutput:
        """Start a job of tasks of one core each; `options` are those of its shell."""
        request = RequestedResources(0, tasks, 1, 0, shape=TaskShape(workers=workers) if workers else None)
        allocation = self.pool.alloc(job, request)
        assert allocation is not None
        slot = {"type": "slot", "count": tasks, "with": [{"type": "core", "count": 1}], "label": "task"}
        system = {"duration": 0, "cwd": "/", "environment": {"PATH": os.environ["PATH"]}}
        spec = {
            "version": 1,
            "resources": [slot],
            "tasks": [{"command": ["sh", "-c", SHOW], "slot": "task", "count": {"per_slot": 1}}],
            "attributes": {"system": system | {"shell": {"options": options}}},
        }
        output = JobOutput()
        divided = self.pool.workers_of(request, allocation) if workers else {}
        file = "secret" if malleable else None
        resources = encode(NODES, allocation, nslots=tasks)
        self.execution.start(Launch(job, spec, resources, 1000, file, cast("Any", output), divided))
        return output

    async def end(self) -> None:
        for rank in self._ranks:
            await rank.end_all()


def run(
    directory: Path, steps: Callable[[Machine], Coroutine[Any, Any, None]], placement: str = "task-group"
) -> None:
    async def whole() -> None:
        machine = Machine(directory, placement)
        try:
            await steps(machine)
        finally:
            await machine.end()

    asyncio.run(whole())


@pytest.mark.parametrize(
    ("workers", "masks", "numbers"),
    [
        pytest.param(
            4,
            {rank: [set(cpus_of(rank).cpus)] * 4 for rank in HOSTS},
            [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4,
            id="a worker on each",
        ),
        pytest.param(
            16,
            {rank: [{cpu} for cpu in cpus_of(rank).cpus] for rank in HOSTS},
            [*range(16)],
            id="a worker for each task",
        ),
        pytest.param(
            8,
            {rank: [set(part) for part in cpus_of(rank).domains for _ in part] for rank in HOSTS},
            [task // 2 for task in range(16)],
            id="a worker in each domain",
        ),
    ],
)
def test_workers_over_four_brokers(
    tmp_path: Path, workers: int, masks: dict[int, list[set[int]]], numbers: list[int]
) -> None:
    """Sixteen tasks on all CPUs. PMI's ranks are in the order of the workers."""

    async def steps(machine: Machine) -> None:
        output = machine.start(1, 16, workers)
        printed = await output.printed(16)
        assert machine.asked == masks
        assert printed == [(str(task), str(number)) for task, number in enumerate(numbers)]

    run(tmp_path, steps)


@pytest.mark.parametrize(("tasks", "workers"), [(4, 1), (3, 1), (12, 3), (10, 3), (16, 16), (7, 5)])
def test_the_masks_are_what_r_gives_each_rank(tmp_path: Path, tasks: int, workers: int) -> None:
    """Whatever the number of workers: all cores of R, and no others; a worker has as many as it has tasks."""

    async def steps(machine: Machine) -> None:
        output = machine.start(1, tasks, workers)
        printed = await output.printed(tasks)
        allocation = machine.pool.allocation(1)
        for rank, asked in machine.asked.items():
            cores, _ = allocation.get(rank, (0, 0))
            given = {rank * CORES + core for core in range(CORES) if cores >> core & 1}
            assert set().union(*asked) == given
            assert all(len(each) == asked.count(each) for each in asked)
        assert [task for task, _ in printed] == [str(task) for task in range(tasks)]
        numbers = [int(number) for _, number in printed]
        assert numbers == sorted(numbers)

    run(tmp_path, steps)


def test_two_jobs_have_no_cpu_in_common(tmp_path: Path) -> None:
    async def steps(machine: Machine) -> None:
        await machine.start(1, 6, 3).printed(6)
        first = {rank: set().union(*asked) for rank, asked in machine.asked.items()}
        for asked in machine.asked.values():
            asked.clear()
        await machine.start(2, 10, 5).printed(10)
        second = {rank: set().union(*asked) for rank, asked in machine.asked.items()}
        assert {rank: first[rank] | second[rank] for rank in HOSTS} == {
            rank: set(cpus_of(rank).cpus) for rank in HOSTS
        }
        assert not any(first[rank] & second[rank] for rank in HOSTS)

    run(tmp_path, steps)


def test_a_malleable_job_over_two_ranks_after_a_growth_and_a_shrink(tmp_path: Path) -> None:
    """Each task has its slot's core, so that cores come and go without a task being bound anew."""

    async def steps(machine: Machine) -> None:
        output = machine.start(1, 5, malleable=True)
        await output.printed(5)
        assert machine.asked == {0: [{0}, {1}, {2}, {3}], 1: [{4}], 2: [], 3: []}

        more = RequestedResources(0, 2, 1, 0)
        assert machine.pool.extend(1, more) == {1: (0b1100, 0)}  # a domain of their own
        slots = {5: Slot(1, (0b0100, 0)), 6: Slot(1, (0b1000, 0))}
        machine.execution.extend(1, 1, slots, HOSTS)
        await output.printed(7)
        assert machine.asked[1] == [{4}, {6}, {7}]

        machine.execution.dismiss(1, {5: slots[5]})
        machine.execution.end_tasks(1, [5])
        machine.pool.reduce(1, {1: slots[5].resources})
        await machine.start(2, 2).printed(2)
        assert machine.asked[1] == [{4}, {6}, {7}, {5, 6}, {5, 6}]

    run(tmp_path, steps, "low-rank")
