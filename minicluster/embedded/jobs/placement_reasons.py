"""Why jobs wait although enough cores are free: their placement has no room for them as the cores are."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, cast

from queue_policies.errors import PlacementDefect
from queue_policies.nodes.obstacles import obstacle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_config.formats.jobspec import RequestedResources
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.scheduler import Scheduler

MAX_REASONS = 4
"""Jobs, the first ones of the queue, whose reason is shown: each has to be placed once more for it."""


class PlacementReasons:
    """Keeps the reason in the annotations of the first jobs that wait."""

    def __init__(self, scheduler: Scheduler, jobs: Mapping[int, ActiveJob], log: JobLog) -> None:
        self._scheduler = scheduler
        self._jobs = jobs
        self._log = log
        self._shown: dict[int, str] = {}

    def update(self) -> None:
        """Show the reasons as they are now."""
        if self._scheduler.pool.placement is None:
            return
        found = {}
        for job in islice(self._scheduler.queue, MAX_REASONS):
            if reason := self._reason(cast("RequestedResources", job.request)):
                found[job.id] = reason
        for job_id in self._shown.keys() | found.keys():
            if self._shown.get(job_id) != found.get(job_id) and job_id in self._scheduler.queue:
                self._show(self._jobs[job_id], found.get(job_id))
        self._shown = found

    def _reason(self, request: RequestedResources) -> str:
        try:
            return obstacle(self._scheduler.pool, request)
        except PlacementDefect:  # it is logged where the job was to start
            return ""

    def _show(self, job: ActiveJob, reason: str | None) -> None:
        shown = {**(job.annotations or {}).get("sched", {}), "reason_pending": reason}
        self._log.annotate(job, {"sched": {key: value for key, value in shown.items() if value is not None}})
