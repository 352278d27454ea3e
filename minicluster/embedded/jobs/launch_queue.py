"""The jobs that got resources and are started once that is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.jobs.job import ActiveJob


class WaitingLaunch(NamedTuple):
    """A job to start."""

    job: ActiveJob
    credentials: Callable[[], str | None] | None
    """Of a malleable job: returns the content of its program's credentials file."""


class LaunchQueue:
    """The jobs to start, in the order in which they got their resources."""

    def __init__(self) -> None:
        self._waiting: list[WaitingLaunch] = []

    def add(self, launch: WaitingLaunch) -> None:
        """Add a job, which is started after the next write."""
        self._waiting.append(launch)

    def withdraw(self, job: ActiveJob) -> bool:
        """Remove a job; return whether it was still there."""
        before = len(self._waiting)
        self._waiting = [each for each in self._waiting if each.job is not job]
        return len(self._waiting) < before

    def take(self) -> list[WaitingLaunch]:
        """Remove and return all of them."""
        waiting, self._waiting = self._waiting, []
        return waiting
