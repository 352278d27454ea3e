"""Loads the jobs of an earlier lead from the store: waiting ones wait on, running ones are failed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from broker_config.formats import eventlog, jobspec
from broker_config.formats.errors import JobspecError
from broker_config.formats.job_states import JobState
from minicluster.embedded import log
from minicluster.embedded.jobs import alloc_bypass, task_shapes
from minicluster.embedded.jobs.job import ActiveJob
from queue_policies.placement.attributes import valid_shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.embedded.jobs.job_manager import JobManager
    from minicluster.embedded.jobs.lifecycle import JobLifecycle

JSON = dict[str, Any]
RESTARTED = "lead broker restarted: the job's processes are gone"
_KILLED = 9  # wait status of tasks that died with their broker


def replay(manager: JobManager) -> None:
    """Load every job that has not ended into the job manager."""
    store = manager.parts.store
    manager.stats.restore(store.jobs.counts())
    jobs = [job for row in store.jobs.active() if (job := _rebuilt(manager, row)) is not None]
    for job in jobs:
        manager.active[job.id] = job
        manager.stats.enter(job, job.state)
    for job in jobs:
        if job.id in manager.active:
            _resume(manager, job)


def _rebuilt(manager: JobManager, row: tuple[int, int, str, str | None]) -> ActiveJob | None:
    """Return a job in the state that its eventlog gives; None where its jobspec is invalid."""
    jobid = row[0]
    lines = manager.parts.store.eventlogs.lines(jobid, "eventlog")
    try:
        job = rebuilt(row, (line for _, line in lines))
    except JobspecError as error:
        manager.parts.log(log.ERR, f"job {jobid} is passed over: its stored jobspec is invalid: {error}")
        return None
    job.restored = True
    return job


def rebuilt(row: tuple[int, int, str, str | None], lines: Iterable[str]) -> ActiveJob:
    """Return a job (id, user, jobspec, R) in the state that its eventlog gives. Raises JobspecError."""
    jobid, userid, text, resources = row
    spec = json.loads(text)
    parsed = task_shapes.with_shape(jobspec.parse(spec), spec, valid_shape_of)
    job = ActiveJob.of(jobid, userid, 16, 0, parsed)
    job.R = json.loads(resources) if resources else None
    for line in lines:
        entry = eventlog.decode(line)
        if entry["name"] == "set-flags" and (brought := alloc_bypass.brought(spec)) is not None:
            job.bring(brought)
        _apply(job, entry["name"], entry["timestamp"], eventlog.context(entry))
    return job


def _resume(manager: JobManager, job: ActiveJob) -> None:
    if job.state in JobState.RUNNING:
        _end(manager.lifecycle, job)
    else:
        manager.admission.resume(job)


def _end(lifecycle: JobLifecycle, job: ActiveJob) -> None:
    """End a job whose processes died with the earlier lead."""
    if job.state == JobState.RUN:
        lifecycle.enter_cleanup(job, job.t_run)  # before the exception, which has no process to end
        job.t_cleanup = lifecycle.raise_exception(job, "exec", 0, RESTARTED)
    if job.started:
        lifecycle.finished(job, _KILLED)
    job.start_pending = True
    lifecycle.released(job)


def _apply(job: ActiveJob, name: str, t: float, context: JSON) -> None:  # noqa: C901, PLR0912 - a case an event
    """Apply an event to the job."""
    waits = job.dependencies or []
    match name:
        case "submit":
            job.t_submit = job.t_depend = t
            job.urgency, job.flags, job.state = context["urgency"], context["flags"], JobState.DEPEND
        case "validate":
            job.t_depend = t
        case "dependency-add":
            job.dependencies = [*waits, context["description"]]
        case "dependency-remove":
            job.dependencies = [each for each in waits if each != context["description"]] or None
        case "depend":
            job.t_priority, job.state = t, JobState.PRIORITY
        case "priority":
            job.priority, job.t_sched, job.state = context["priority"], job.t_sched or t, JobState.SCHED
        case "urgency":
            job.urgency = context["urgency"]
        case "alloc":
            job.t_run, job.state, job.annotations = t, JobState.RUN, context.get("annotations")
        case "start":
            job.started = True
        case "finish":
            job.status, job.t_cleanup, job.state = context["status"], job.t_cleanup or t, JobState.CLEANUP
        case "exception":
            severity = context["severity"]
            if job.exception is None or severity < job.exception[1]:
                job.exception = (context["type"], severity, context["note"])
            if severity == 0:
                job.t_cleanup, job.state = job.t_cleanup or t, JobState.CLEANUP
