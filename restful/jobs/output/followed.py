"""A job that somebody may follow, and what its feeds read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.instance.errors import WaitTimeout
from minicluster.instance.records import JobState
from restful.jobs.output.endings import EndReason, FeedEnd
from restful.jobs.output.entries import event_entries, output_entries
from restful.jobs.output.pump import FeedConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from minicluster.instance.port import Jobs
    from minicluster.instance.records import Event, OutputChunk

ENDED_TIMEOUT = 10.0
"""Seconds within which a job is inactive whose output has ended."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A job, and how its instance is asked about it. The functions are called by threads and may block."""

    key: Hashable
    """What names the job in this service: its cluster, the instance and the id."""
    jobid: int
    jobs: Callable[[], Jobs]
    """The jobs of the instance, by the connection that there is now. Raises InstanceGone.

    A stream ends in silence where its connection is closed on this side. So whether it was at its end is
    asked by the same connection, which then raises InstanceGone.
    """
    successor: Callable[[int], int | None]
    """With the id: the new id, where the job was restarted."""
    owner: str = ""
    """The user whose the cluster is, if it is somebody's own."""
    ended: bool = False
    """Whether the job has ended, as far as is known without asking its instance."""

    def output(self) -> FeedConnection[OutputChunk]:
        """Return the output as it comes."""
        jobs = self.jobs()
        return FeedConnection(
            lambda after: output_entries(jobs.output(self.jobid, follow=True, after=after)),
            lambda: self._ended(jobs),
        )

    def output_now(self) -> FeedConnection[OutputChunk]:
        """Return the output that is there.

        That of a job that has ended is followed, which takes less memory: what is there now comes as one.
        """
        if self.ended or (jobs := self.jobs()).get(self.jobid).state == JobState.INACTIVE:
            return self.output()
        return FeedConnection(
            lambda after: output_entries(jobs.output(self.jobid, after=after)),
            lambda: FeedEnd(EndReason.READ),
        )

    def events(self) -> FeedConnection[Event]:
        """Return the eventlog as it comes."""
        jobs = self.jobs()
        return FeedConnection(
            lambda after: event_entries(jobs.events(self.jobid, follow=True), after),
            lambda: self._ended(jobs),
        )

    def events_now(self) -> FeedConnection[Event]:
        """Return the eventlog that is there."""
        jobs = self.jobs()
        return FeedConnection(
            lambda after: event_entries(jobs.events(self.jobid), after), lambda: FeedEnd(EndReason.READ)
        )

    def _ended(self, jobs: Jobs) -> FeedEnd | None:
        try:
            job = jobs.wait(self.jobid, ENDED_TIMEOUT)
        except WaitTimeout:
            return None
        return FeedEnd(EndReason.ENDED, job, self.successor(self.jobid))
