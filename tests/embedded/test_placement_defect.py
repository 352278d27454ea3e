"""A defective placement in the embedded scheduler: it is logged like a policy's, and the queue is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from minicluster.embedded.jobs.scheduler import Scheduler
from minicluster.embedded.log import ERR
from queue_policies.backfill import Backfill
from queue_policies.records import Happened, QueuedJob, Start, State
from tests.queue_policies.placement.clusters import node, pool, request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.nodes.records import Allocation
    from queue_policies.placement.protocol import PlacementAsk, PlacementView
    from queue_policies.records import Action


@dataclass(frozen=True)
class Doubling:
    """A placement that returns the same cores to everybody."""

    name: ClassVar[str] = "doubling"

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        return {0: ((1 << ask.request.slots) - 1, 0)}


@dataclass(frozen=True)
class Blind:
    """A policy that starts every job without a trial."""

    name: ClassVar[str] = "blind"

    def decide(self, state: State, now: float) -> Sequence[Action]:
        return [Start(job.id) for job in state.queue]


def _scheduler(policy: Backfill | Blind, log: list[tuple[int, str]]) -> Scheduler:
    cluster = pool(Doubling(), [node(0, (4, 4))])
    made = Scheduler(cluster, policy, lambda level, text: log.append((level, text)))
    for number in (1, 2):
        made.queue.add(QueuedJob(number, 16, request(2), 0.0, math.inf))
        made.changed(Happened.ARRIVED, number)
    return made


def test_a_decision_on_it_starts_nothing() -> None:
    log: list[tuple[int, str]] = []
    scheduler = _scheduler(Backfill(), log)
    assert scheduler.decide(1.0) == []
    ((level, text),) = log
    assert (level, text.split("; ")[0]) == (
        ERR,
        "placement doubling returns core 0 of rank 0, which is not free",
    )
    assert (len(scheduler.queue), scheduler.pool.free) == (2, 8)


def test_a_start_on_it_leaves_that_job_queued() -> None:
    log: list[tuple[int, str]] = []
    scheduler = _scheduler(Blind(), log)
    assert [type(deed).__name__ for deed in scheduler.decide(1.0)] == ["Begun"]
    assert [text.endswith("; it is job 2") for _, text in log] == [True]
    assert ([job.id for job in scheduler.queue], scheduler.pool.free) == ([2], 6)
