"""An instance in memory: queues, its own nodes, those of slots, and jobs that run for some time.

It behaves as a real one as far as bursting can see: a slot's queue starts when somebody starts it and is
closed as soon as ranks are gone, and what ran on ranks that are gone has failed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats.burst_names import BURST, DEFAULT_QUEUE, LOCAL
from broker_config.formats.resource_set import Node
from burst.leads.layout import LeadLayout
from burst.leads.slot_ranks import SlotRanks
from burst.planning.packing import nodes_of
from burst.planning.selection import wants_burst
from burst.rehearsal.jobs import JobPhase
from burst.rehearsal.policy_nodes import PolicyNodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from burst.planning.records import BurstSlot, NodeShape
    from burst.rehearsal.jobs import RehearsedJob
    from queue_policies.policy import Policy


class OwnNodes(NamedTuple):
    """The nodes that a MiniCluster has without bursts."""

    number: int
    shape: NodeShape


class RehearsedInstance:
    """One MiniCluster's instance; times are in seconds since 1970."""

    def __init__(
        self,
        own: OwnNodes,
        slots: Sequence[BurstSlot],
        policy: Policy,
        joined: Callable[[str], int],
    ) -> None:
        """`joined` returns how many brokers in a slot are up now."""
        self.identity = "instance-1"
        self.jobs: dict[int, RehearsedJob] = {}
        self.lost: list[int] = []
        """Jobs whose nodes went while they ran."""
        self.slots = {each.name: each for each in slots}
        self.drained: dict[str, set[int]] = {each.name: set() for each in slots}
        self.started = {DEFAULT_QUEUE: True, **dict.fromkeys(self.slots, False)}
        self.now = 0.0
        self.changes = 0
        """How often a job was submitted, has started, or has ended."""
        self._joined = joined
        self._nodes = {DEFAULT_QUEUE: PolicyNodes(_nodes(own.number, own.shape, LOCAL), policy)}
        for each in slots:
            self._nodes[each.name] = PolicyNodes(_nodes(each.size, each.shape, BURST), policy)
        self._nodes[DEFAULT_QUEUE].use(frozenset(range(own.number)))
        self._before: dict[str, frozenset[int]] = {each.name: frozenset() for each in slots}
        """The ranks that were there last."""

    @property
    def layout(self) -> LeadLayout:
        """Who has which ranks."""
        first, slots = len(self._nodes[DEFAULT_QUEUE].pool.nodes), {}
        for name, each in self.slots.items():
            slots[name] = SlotRanks(first, each.size, each.shape.cores, each.shape.gpus)
            first += each.size
        return LeadLayout(self._nodes[DEFAULT_QUEUE].pool, slots)

    def submit(self, job: RehearsedJob) -> None:
        """Add a job, to the queue where it belongs: what never fits here waits for a burst, or is refused."""
        self.jobs[job.id] = job
        self.changes += 1
        job.phase, job.queue = JobPhase.PENDING, DEFAULT_QUEUE
        if self.layout.fits_here(job.request):
            return
        nodes = [(nodes_of(job.request, each.shape), each.size) for each in self.slots.values()]
        if wants_burst(job.wish) and any(count and count <= size for count, size in nodes):
            job.queue = BURST
        else:
            job.phase = JobPhase.REFUSED

    def online(self, slot: str) -> frozenset[int]:
        """Return the ranks of a slot that are up."""
        return frozenset(range(min(self._joined(slot), self.slots[slot].size)))

    def in_slot(self, slot: str, phase: JobPhase) -> frozenset[int]:
        """Return the jobs of a phase in a slot's queue, or on its nodes."""
        where = "queue" if phase is JobPhase.PENDING else "where"
        found = (each for each in self.jobs.values() if each.phase is phase)
        return frozenset(each.id for each in found if getattr(each, where) == slot)

    def begin_anew(self, job: RehearsedJob) -> None:
        """Have a job wait again that runs, or that was lost."""
        self._release(job)
        job.ends = None
        self.submit(job)

    def next_end(self) -> float:
        """Return when the next job ends; infinite: none runs."""
        return min((each.ends for each in self._running() if each.ends is not None), default=math.inf)

    def pass_time(self, now: float) -> None:
        """Let jobs end and start, each at its time."""
        while (end := self.next_end()) <= now:
            self.now = end
            self._end_due()
            self._start()
        self.now = now
        for slot in self.slots:
            self._lose(slot)
        self._start()

    def _running(self) -> Iterator[RehearsedJob]:
        return (each for each in self.jobs.values() if each.is_running)

    def _release(self, job: RehearsedJob) -> None:
        if job.is_running:
            self._nodes[job.where].release(job.id)

    def _end_due(self) -> None:
        for job in list(self._running()):
            if job.ends is not None and job.ends <= self.now:
                self._release(job)
                self.changes += 1
                job.phase, job.runs = JobPhase.DONE, job.runs + 1

    def _lose(self, slot: str) -> None:
        """Have jobs fail whose ranks are gone; close the queue of a slot that has lost one."""
        online = self.online(slot)
        for job in list(self._running()):
            if job.where == slot and not self._nodes[slot].ranks_of(job.id) <= online:
                self._release(job)
                self.lost.append(job.id)
                job.phase, job.ends = JobPhase.LOST, None
        if self._before[slot] - online:
            self.started[slot] = False
        self._before[slot] = online

    def _start(self) -> None:
        for queue, nodes in self._nodes.items():
            if queue in self.slots:
                nodes.use(self.online(queue) - self.drained[queue])
            if not self.started[queue]:
                continue
            waiting = (each for each in self.jobs.values() if each.is_pending and each.queue == queue)
            for job in nodes.started(waiting, self.now):
                self.changes += 1
                job.phase, job.where = JobPhase.RUNNING, queue
                job.started, job.ends = self.now, self.now + job.span


def _nodes(count: int, shape: NodeShape, name: str) -> list[Node]:
    cores, gpus = (1 << shape.cores) - 1, (1 << shape.gpus) - 1
    return [Node(rank, f"{name}-{rank}", cores, gpus, frozenset({name})) for rank in range(count)]
