"""Jobs of a slot as a restart sees them, over the port: their copies go to another queue."""

from __future__ import annotations

import contextlib
import copy
import math
from typing import TYPE_CHECKING, Any

from broker_config.formats import idset
from broker_config.formats.job_states import JobResult
from broker_config.formats.jobspec import system_of
from burst.lifecycle.records import PREFIX
from minicluster.instance.errors import InstanceError, JobInactive, JobNotFound, WaitTimeout
from minicluster.instance.records import JobFilter, JobState
from minicluster.save_restore.errors import JobRefused
from minicluster.save_restore.losses import FailedJob
from minicluster.save_restore.restarts import Waiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.instance.port import Instance

END_SECONDS = 20.0
"""Seconds to wait for the end of a job that was canceled."""


class RestartableSlotJobs:
    """See `minicluster.save_restore`: `restarts.RestartableJobs`, and `losses.History`."""

    def __init__(self, instance: Instance, queue: str) -> None:
        self._instance = instance
        self._queue = queue

    def urgency(self, jobid: int) -> int | None:
        """Return the urgency of a job whose tasks run; None if they do not."""
        job = self._instance.jobs.get(jobid)
        return job.urgency if job.state is JobState.RUN else None

    def pends(self, jobid: int) -> bool:
        """Return whether the job has not started."""
        return self._instance.jobs.get(jobid).state in JobState.PENDING

    def waiting(self) -> list[Waiting]:
        """Return the jobs with dependencies that are not satisfied."""
        found = self._instance.jobs.find(JobFilter(states=JobState.DEPEND), limit=0)
        return [Waiting(job.id, job.urgency) for job in found]

    def jobspec(self, jobid: int) -> Mapping[str, Any]:
        """Return the jobspec as it was submitted."""
        return self._instance.jobs.jobspec(jobid)

    def submit(self, jobspec: dict[str, Any], urgency: int) -> int:
        """Submit a copy to the other queue, whose constraints it gets. Raises JobRefused.

        One that was submitted without a queue, or for that one, stays as it is: what signs it still holds.
        """
        moved = copy.deepcopy(jobspec)
        if system_of(moved).get("queue") not in {None, self._queue}:
            system_of(moved)["queue"] = self._queue
            system_of(moved).pop("constraints", None)
        try:
            return self._instance.jobs.resubmit(moved, urgency=urgency)
        except InstanceError as error:
            raise JobRefused(str(error)) from error

    def cancel(self, jobid: int, reason: str) -> None:
        """Cancel a job; one that is inactive stays as it is."""
        with contextlib.suppress(JobInactive, JobNotFound):
            self._instance.jobs.cancel(jobid, reason)

    def await_ends(self, jobids: Iterable[int]) -> None:
        """Wait until these jobs are inactive, each for some seconds."""
        for jobid in jobids:
            with contextlib.suppress(WaitTimeout):
                self._instance.jobs.wait(jobid, END_SECONDS)

    def finished(self, jobid: int) -> bool:
        """Return whether the job's tasks ended by themselves, before it was canceled."""
        with self._instance.jobs.events(jobid) as events:
            for event in events:
                if event.name == "finish":
                    return True
                if event.name == "exception" and event.context["severity"] == 0:
                    return False
        return False

    def failed(self, since: float) -> list[FailedJob]:
        """Return the jobs that were ended by an exception after a time, but those that tried ranks."""
        found = self._instance.jobs.find(JobFilter(results=JobResult.FAILED, since=since), limit=0)
        return [
            FailedJob(
                job.id,
                job.urgency,
                job.t_inactive,
                job.exception.type,
                job.exception.note,
                frozenset(idset.decode(job.ranks.strip("[]"))) if job.ranks else frozenset(),
            )
            for job in found
            if job.exception is not None and not job.name.startswith(PREFIX)
        ]

    def submitted(self, since: float) -> list[int]:
        """Return the jobs that were submitted after a time, in any state."""
        found = self._instance.jobs.find(JobFilter(submitted=(since, math.inf)), limit=0)
        return [job.id for job in found]

    def outcome(self, jobid: int) -> str:
        """Return what became of a job, in words."""
        try:
            job = self._instance.jobs.get(jobid)
        except JobNotFound:
            return "the instance does not know it"
        return (job.result.name or "").lower() if job.result is not None else "goes on elsewhere"
