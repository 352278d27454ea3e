"""A job as listings show it, by the names of Flux's job-list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import job_sizes
from broker_config.formats.job_states import JobResult, JobState

if TYPE_CHECKING:
    from minicluster.embedded.jobs.job import ActiveJob

JSON = dict[str, Any]
_TIMES = ("t_submit", "t_depend", "t_priority", "t_sched", "t_run", "t_cleanup", "t_inactive")


def attributes(job: ActiveJob) -> JSON:
    """Return all attributes of a job for listings, without those that it does not have."""
    shown: JSON = {"id": job.id, "userid": job.userid, "urgency": job.urgency}
    if job.priority is not None:
        shown["priority"] = job.priority
    shown |= {name: value for name in _TIMES if (value := getattr(job, name))}
    shown |= {"state": int(job.state), "name": job.name}
    shown |= {name: value for name in ("cwd", "queue") if (value := getattr(job, name)) is not None}
    size = job_sizes.requested(job.resources) if job.R is None else job_sizes.allocated(job.R)
    shown |= {"ntasks": job_sizes.tasks(job.ntasks, job.tasks_per, size), "duration": job.duration, **size}
    if job.state == JobState.INACTIVE:
        shown |= _ending(job)
    elif job.exception is not None:
        shown |= _exception(job)
    if job.annotations and (job.R is not None or job.state == JobState.SCHED):
        shown["annotations"] = job.annotations
    if job.status is not None:
        shown["waitstatus"] = job.status
    if job.dependencies:
        shown["dependencies"] = job.dependencies
    return shown


def _ending(job: ActiveJob) -> JSON:
    return {"success": job.result == JobResult.COMPLETED, "result": int(job.result), **_exception(job)}


def _exception(job: ActiveJob) -> JSON:
    if job.exception is None:
        return {"exception_occurred": False}
    kind, severity, note = job.exception
    return {
        "exception_occurred": True,
        "exception_type": kind,
        "exception_severity": severity,
        "exception_note": note,
    }
