"""Jobs that got resources, and are started once that is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.jobs.job import ActiveJob


class WaitingLaunch(NamedTuple):
    """A job to start; of a malleable one, what returns the file by which its program reaches the instance."""

    job: ActiveJob
    credentials: Callable[[], str | None] | None


class LaunchQueue:
    """In the order in which they got their resources."""

    def __init__(self) -> None:
        self._waiting: list[WaitingLaunch] = []

    def add(self, launch: WaitingLaunch) -> None:
        """Have a job started after the next write."""
        self._waiting.append(launch)

    def withdraw(self, job: ActiveJob) -> bool:
        """Do not start a job; return whether it was to be started still."""
        before = len(self._waiting)
        self._waiting = [each for each in self._waiting if each.job is not job]
        return len(self._waiting) < before

    def take(self) -> list[WaitingLaunch]:
        """Take out all of them."""
        waiting, self._waiting = self._waiting, []
        return waiting
