"""Which of the jobs that may burst come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from burst.planning.records import BurstableJob


def by_priority(_job: BurstableJob) -> float:
    """Return the same for every job: priority alone decides."""
    return 0.0


def ordered(jobs: Iterable[BurstableJob], rank: Callable[[BurstableJob], float]) -> list[BurstableJob]:
    """Return jobs by rank, then by priority, then by when they were submitted, then by id."""
    return sorted(jobs, key=lambda job: (rank(job), -job.priority, job.submitted, job.id))
