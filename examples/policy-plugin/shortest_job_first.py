"""A queue policy of one's own: the shortest time limit goes first.

    pip install ./examples/policy-plugin
    minicluster policies shortest-job-first
    minicluster simulate --workload lublin --policy easy --policy shortest-job-first:max_wait=7200
    minicluster up FILE --policy shortest-job-first

While it is written, the simulator takes the file as it is:

    minicluster simulate --workload lublin --policy ./shortest_job_first.py:ShortestJobFirst
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from queue_policies.plugins import hookimpl
from queue_policies.records import Action, QueuedJob, Start, State
from queue_policies.settings import setting


@dataclass(frozen=True)
class ShortestJobFirst:
    """What fits starts, the shortest time limit first; who has waited long goes before all others."""

    name: ClassVar[str] = "shortest-job-first"
    max_wait: float = setting(86_400.0, "seconds after which a job goes first, and is waited for", least=0.0)

    def decide(self, state: State, now: float) -> list[Action]:
        """Start what fits, in this policy's order; nothing passes a job that has waited for too long."""
        trial = state.cluster.sketch()
        actions: list[Action] = []
        for job in sorted(state.queue, key=lambda job: self._order(job, now)):
            if trial.take(job.id, job.request):
                actions.append(Start(job.id))
            elif self._is_late(job, now):
                break
        return actions

    def _order(self, job: QueuedJob, now: float) -> tuple[bool, float, int]:
        late = self._is_late(job, now)
        return (not late, job.submitted if late else job.limit, job.id)

    def _is_late(self, job: QueuedJob, now: float) -> bool:
        return now - job.submitted > self.max_wait


@hookimpl
def minicluster_policies() -> list[type[ShortestJobFirst]]:
    """Offer the policies of this package."""
    return [ShortestJobFirst]
