"""The eventlogs of jobs: events are stored, and published in the journal once they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats import eventlog

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.jobs.commit_loop import CommitLoop
    from minicluster.embedded.jobs.eventlogs import Eventlogs
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import Encoded

MAIN = "eventlog"
EXEC = "guest.exec.eventlog"


class JobLog:
    """Appends events; each schedules a turn of the commit loop."""

    def __init__(self, eventlogs: Eventlogs, commits: CommitLoop, clock: Callable[[], float]) -> None:
        self._eventlogs = eventlogs
        self._commits = commits
        self._clock = clock

    def append(
        self, job: ActiveJob, name: str, context: JSON | None = None, path: str = MAIN, **data: JSON | Encoded
    ) -> float:
        """Append an event to one of the job's eventlogs; the journal publishes `data` with it.

        Return the event's time.
        """
        now = self._clock()
        line = eventlog.encode(eventlog.event(now, name, context))
        self._eventlogs.append(job.id, path, line)
        if path == MAIN:
            self._commits.post(job.id, name, line, data)
        self._commits.schedule()
        return now

    def annotate(self, job: ActiveJob, annotations: JSON) -> None:
        """Add annotations to the job in listings, and publish all of its annotations in the journal."""
        annotated = {**(job.annotations or {}), **annotations}
        if annotated != job.annotations:
            self._publish(job, annotated)

    def remove_annotations(self, job: ActiveJob) -> None:
        """Remove the job's annotations, if it has any."""
        if job.annotations:
            self._publish(job, None)

    def _publish(self, job: ActiveJob, annotations: JSON | None) -> None:
        job.annotations = annotations
        entry = eventlog.event(self._clock(), "annotations", {"annotations": annotations})
        self._commits.post(job.id, "annotations", eventlog.encode(entry), {})
