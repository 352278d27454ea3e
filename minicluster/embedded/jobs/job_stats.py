"""Counts of jobs by state and outcome, for the instance and for each queue (job-list.job-stats)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from broker_config.formats.job_states import RESULT_COUNTS, STATES, JobResult, JobState, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.embedded.jobs.job import ActiveJob
_STATES = {name: state_of(name) for name in STATES}


class JobStats:
    """The counts, which are updated at every change of state."""

    def __init__(self, queues: Iterable[str]) -> None:
        self._queues = tuple(queues)
        self._states: Counter[tuple[str | None, JobState]] = Counter()
        self._results: Counter[tuple[str | None, JobResult]] = Counter()

    def enter(self, job: ActiveJob, state: JobState) -> None:
        """Count a job in `state`."""
        self._states[job.queue, state] += 1

    def leave(self, job: ActiveJob) -> None:
        """Remove a job from the counts."""
        self._states[job.queue, job.state] -= 1

    def move(self, job: ActiveJob, state: JobState) -> None:
        """Count a job in `state` from now on; it still has its old state."""
        self._states[job.queue, job.state] -= 1
        self._states[job.queue, state] += 1

    def end(self, job: ActiveJob) -> None:
        """Count the result of a job that became inactive."""
        self._results[job.queue, job.result] += 1

    def restore(self, counts: Iterable[tuple[str | None, int, int]]) -> None:
        """Add stored counts of inactive jobs: queue, result, count."""
        for queue, result, count in counts:
            self._states[queue, JobState.INACTIVE] += count
            self._results[queue, JobResult(result)] += count

    def count(self, states: JobState) -> int:
        """Return how many jobs are in one of the states."""
        return sum(number for (_, state), number in self._states.items() if state in states)

    def encode(self) -> dict[str, Any]:
        """Return the answer of job-list.job-stats."""
        names = {queue for queue, _ in self._states} | {None, *self._queues}
        answer = self._encode(names)
        answer["inactive_purged"] = 0
        answer["queues"] = [{"name": name, **self._encode({name})} for name in self._queues]
        return answer

    def _encode(self, queues: set[str | None]) -> dict[str, Any]:
        states = {name: sum(self._states[q, state] for q in queues) for name, state in _STATES.items()}
        results = {
            name: sum(self._results[q, result] for q in queues) for name, result in RESULT_COUNTS.items()
        }
        return {"job_states": {**states, "total": sum(states.values())}, **results}
