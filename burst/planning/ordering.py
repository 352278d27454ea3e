"""Which of the jobs that may burst come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from burst.planning.records import BurstableJob


def ordered(jobs: Iterable[BurstableJob]) -> list[BurstableJob]:
    """Return jobs by priority, then by when they were submitted, then by id."""
    return sorted(jobs, key=lambda job: (-job.priority, job.submitted, job.id))
