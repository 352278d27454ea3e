"""From what an instance reports of a job to its record, and to what it has used. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats.job_states import JobResult, JobState
from restful.store.jobs import NOBODY, JobRecord, status_of
from restful.store.usage import DAY, Charge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.records import Job

LOST = "lost"
"""The type of the exception of a job that its instance does not know any more (not one of Flux's)."""


class Owned(NamedTuple):
    """What the service knows of a job, and the instance does not prove."""

    owner: str = NOBODY
    request: str = ""
    restart_of: int | None = None


def new_record(cluster: str, instance: str, jobid: int, owned: Owned) -> JobRecord:
    """Return the record of a job of which nothing else is known yet."""
    return JobRecord(cluster, instance, jobid, owned.owner, owned.request, restart_of=owned.restart_of)


def projected(before: JobRecord, job: Job) -> JobRecord:
    """Return the record of a job as it is now."""
    exception = job.exception
    return replace(
        before,
        status=status_of(job.state, job.result),
        name=_cut(job.name, 4096) or before.name,
        queue=_cut(job.queue, 255) or before.queue,
        urgency=job.urgency,
        priority=job.priority,
        nnodes=job.nnodes or before.nnodes,
        ntasks=job.ntasks or before.ntasks,
        ncores=job.ncores or before.ncores,
        duration=job.duration or before.duration,
        expiration=job.expiration,
        t_submit=job.t_submit or before.t_submit,
        t_run=job.t_run,
        t_cleanup=job.t_cleanup,
        t_inactive=job.t_inactive,
        nodelist=_cut(job.nodelist, 65_536),
        returncode=job.returncode,
        exception_type="" if exception is None else _cut(exception.type, 64),
        exception_severity=0 if exception is None else exception.severity,
        exception_note="" if exception is None else _cut(exception.note, 4096),
        dependencies=json.dumps([_cut(each, 255) for each in job.dependencies]),
        annotations=_annotations(job) or before.annotations,
    )


def _cut(text: str, most: int) -> str:
    """Return a text as it can be stored; what is behind an instance is not trusted."""
    return text[:most].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _annotations(job: Job) -> str:
    try:
        text = json.dumps(job.annotations, allow_nan=False)
    except ValueError:
        return "{}"
    return text if len(text) <= 16_384 else "{}"


def lost(before: JobRecord, at: float) -> JobRecord:
    """Return the record of a job that went with its instance."""
    return replace(
        before,
        status=status_of(JobState.INACTIVE, JobResult.FAILED),
        t_cleanup=before.t_cleanup or at,
        t_inactive=at,
        exception_type=LOST,
        exception_note="the job went with its instance",
    )


def charges(before: JobRecord, after: JobRecord, at: float) -> tuple[JobRecord, list[Charge]]:
    """Return a job's record with what it used until now charged, and the charges.

    A job is charged when it ends, and when its size changes, for the size before. What is charged once is not
    charged again, whatever part of the journal is read twice.
    """
    ended = after.t_cleanup or after.t_inactive
    resized = before.t_run > 0 and (before.nnodes, before.ncores) != (after.nnodes, after.ncores)
    end = ended if not after.active and ended else at if resized else 0.0
    begin = max(before.charged_until, after.t_run)
    if not after.t_run or end <= begin:
        return after, []
    size = before if before.t_run else after
    charged = replace(after, charged_until=end)
    if not after.owner or not after.request:
        return charged, []
    return charged, [
        Charge(after.owner, day, seconds * size.nnodes, seconds * size.ncores)
        for day, seconds in by_day(begin, end)
    ]


def by_day(begin: float, end: float) -> Iterator[tuple[int, float]]:
    """Yield each day of a time, in days since 1970, and how many seconds of it were on that day."""
    while begin < end:
        day = int(begin // DAY)
        until = min(end, (day + 1) * DAY)
        yield day, until - begin
        begin = until
