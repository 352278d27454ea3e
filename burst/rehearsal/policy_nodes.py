"""Nodes whose jobs a queue policy of ours starts: the MiniCluster's own, or those of a slot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from broker_config.formats import constraints
from queue_policies.decision import decide
from queue_policies.nodes.pool import Pool
from queue_policies.queue import IndexedQueue
from queue_policies.records import Change, Happened, QueuedJob, RunningJob, Start, State
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from broker_config.formats.resource_set import Node
    from burst.rehearsal.jobs import RehearsedJob
    from queue_policies.policy import Policy


class PolicyNodes:
    """Some nodes of an instance, with the jobs that run there."""

    def __init__(self, nodes: Sequence[Node], policy: Policy) -> None:
        self.pool = Pool(nodes, constraints.matches)
        self._policy = policy
        self._running = RunningJobs()

    def use(self, ranks: AbstractSet[int]) -> None:
        """Set which ranks take jobs; those that run on others stay there."""
        if ranks != self.pool.usable:
            for node in self.pool.nodes:
                self.pool.mark(node.rank, up=node.rank in ranks)

    def ranks_of(self, job: int) -> frozenset[int]:
        """Return the ranks on which a job runs."""
        return frozenset(self.pool.allocation(job))

    def started(self, waiting: Iterable[RehearsedJob], now: float) -> Iterator[RehearsedJob]:
        """Give jobs that wait the nodes that the policy gives them; yield each. Raises PolicyDefect."""
        jobs = {job.id: job for job in waiting}
        if not jobs or not self.pool.free:
            return
        queue = IndexedQueue(
            QueuedJob(job.id, job.priority, job.request, job.submitted, job.limit or math.inf)
            for job in jobs.values()
        )
        state = State(queue, self._running, self.pool, [Change(Happened.CLUSTER)])
        for action in decide(self._policy, state, now):
            if not isinstance(action, Start):
                continue
            job = jobs[action.job]
            if self.pool.alloc(job.id, job.request) is not None:
                end = now + (job.limit or math.inf)
                self._running[job.id] = RunningJob(job.id, job.request, now, end, priority=job.priority)
                yield job

    def release(self, job: int) -> None:
        """Take a job's nodes back."""
        self.pool.release(job)
        self._running.pop(job)
