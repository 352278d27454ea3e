"""Preemptive priority: jobs of higher priority take the units of running jobs of lower priority.

Source: the preemptive-resume discipline, with the checkpoint and its cost as in Niu, Zhai, Ma, Tang, Chen,
"Employing Checkpoint to Improve Job Scheduling in Large-Scale Systems" (JSSPP 2012). The queue is in strict
order (`fcfs`). For a head that does not fit, running jobs are preempted whose priority is lower by at least
`margin`: the lowest first, of equal ones the one submitted last, and no more than needed. They are queued
again at their former position and continue from their checkpoint. Where jobs cannot be preempted
(`State.preemption`) this is `fcfs`. Bound on starvation: only a higher priority overtakes or interrupts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.records import Preempt
from queue_policies.settings import setting
from queue_policies.walk import place_in_order, start_actions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, QueuedJob, RunningJob, State


@dataclass(frozen=True, slots=True)
class Preemptive:
    """Strict order, also among the jobs that run already."""

    name: ClassVar[str] = "preemptive"

    margin: int = setting(1, "by how much a job's priority is lower, at least, where it gives way", least=1)

    def decide(self, state: State, now: float) -> Sequence[Action]:  # noqa: ARG002 - time plays no part
        """Start jobs from the head until one does not fit; preempt others for that one."""
        sketch = state.cluster.sketch()
        placed, head = place_in_order(state.queue, sketch)
        actions = start_actions(placed)
        if head is not None and state.preemption:
            actions += self._preempted(state, head, head.request.size - sketch.free)
        return actions

    def _preempted(self, state: State, head: QueuedJob, missing: int) -> list[Preempt]:
        """Return the jobs to preempt, lowest first; none if they do not suffice, or enough stop already."""
        ranked = state.running.by_order()
        missing -= sum(job.size for job in ranked if job.stopping)
        chosen: list[RunningJob] = []
        for job in reversed(ranked):
            if missing <= 0 or job.priority > head.priority - self.margin:
                break
            if job.preemptible:
                chosen.append(job)
                missing -= job.size
        if missing > 0:
            return []
        for job in reversed(chosen):  # a larger one, chosen later, may make it needless
            if missing + job.size <= 0:
                chosen.remove(job)
                missing += job.size
        return [Preempt(job.id) for job in chosen]
