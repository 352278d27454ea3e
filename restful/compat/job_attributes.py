"""A job as /v1 has it: the attributes of Flux's job-list (RFC 43), and what clients expect besides. Pure.

Numbers and texts that there are not yet are "", as with Flux's own JobInfo.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from broker_config.formats.job_states import JobResult

if TYPE_CHECKING:
    from restful.store.jobs import JobRecord

JSON = dict[str, Any]
_MAX_SIGNAL = 64


def attributes(job: JobRecord, now: float) -> JSON:
    """Return the attributes of a job at a time in seconds since 1970."""
    result = job.result
    found: JSON = {
        "id": job.id,
        "owner": job.owner,
        "urgency": job.urgency,
        "priority": "" if job.priority is None else job.priority,
        "state": job.state.name,
        "result": "" if result is None else result.name,
        "name": job.name,
        "queue": job.queue,
        "bank": job.bank,
        "ntasks": job.ntasks,
        "ncores": job.ncores,
        "nnodes": job.nnodes,
        "ranks": "",
        "nodelist": job.nodelist,
        "duration": job.duration or "",
        "expiration": job.expiration or "",
        "runtime": _runtime(job, now),
        "returncode": "" if job.returncode is None else job.returncode,
        "waitstatus": _wait_status(job.returncode),
        "success": result == JobResult.COMPLETED,
        "annotations": json.loads(job.annotations),
        "dependencies": json.loads(job.dependencies),
    }
    return found | _times(job) | _exception(job)


def text(job: JobRecord) -> str:
    """Return what a search looks through: what there is of a job in a listing, in small letters."""
    result = job.result
    words = (
        job.id, job.name, job.state.name, "" if result is None else result.name, job.queue, job.bank,
        job.nodelist, job.exception_type, job.exception_note,
    )  # fmt: skip
    return "\n".join(map(str, words)).lower()


def _times(job: JobRecord) -> JSON:
    """Return the times that there are, in seconds since 1970."""
    times = {name: getattr(job, name) for name in ("t_submit", "t_run", "t_cleanup", "t_inactive")}
    return {name: value for name, value in times.items() if value}


def _runtime(job: JobRecord, now: float) -> float:
    """Return for how many seconds it has run; 0.0 before."""
    if not job.t_run:
        return 0.0
    return max(0.0, (job.t_cleanup or job.t_inactive or now) - job.t_run)


def _wait_status(returncode: int | None) -> int | str:
    """Return the status of wait(2); "" where there is none, as of a job that never ran."""
    if returncode is None or not -_MAX_SIGNAL <= returncode <= 255:
        return ""
    return returncode << 8 if returncode >= 0 else -returncode


def _exception(job: JobRecord) -> JSON:
    """Return the exception twice: within an object, and as attributes of job-list."""
    occurred = bool(job.exception_type)
    found = {
        "occurred": occurred,
        "severity": job.exception_severity if occurred else "",
        "type": job.exception_type,
        "note": job.exception_note,
    }
    return {"exception": found} | {f"exception_{name}": value for name, value in found.items()}
