"""A job as listings show it, by the names of Flux's job-list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import idset, resource_set
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
    size = _size(job)
    shown |= {"ntasks": _tasks(job, size), "duration": job.duration, **size}
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


def _tasks(job: ActiveJob, size: JSON) -> int:
    """Return the number of tasks, from tasks per node or core where the job asks for them so."""
    if job.tasks_per is None:
        return job.ntasks
    kind, count = job.tasks_per
    return int(size.get(f"n{kind}s", 0)) * count or job.ntasks


def _size(job: ActiveJob) -> JSON:
    """Return the job's size: the requested one before the allocation, then the allocated one."""
    if job.R is not None:
        allocation = resource_set.allocation_of(job.R)
        return {
            "ncores": sum(cores.bit_count() for cores, _gpus in allocation.values()),
            "nnodes": len(allocation),
            "ranks": idset.bracketed(allocation),
            "nodelist": resource_set.hostlist_of(job.R),
            "expiration": job.expiration,
        }
    asked = job.resources
    shown: JSON = {} if asked.exclusive else {"ncores": asked.size}
    if asked.nodes:
        shown["nnodes"] = asked.nodes
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
