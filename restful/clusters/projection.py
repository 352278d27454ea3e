"""From what an instance reports of a job to its record, and to what it has used. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats.job_states import JobResult, JobState
from minicluster.database.ids import made_at
from restful.store.jobs import NOBODY, JobRecord, status_of
from restful.store.usage import DAY, Charge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from minicluster.instance.records import Job

LARGEST = 2**31 - 1
"""Of a number that is stored."""
LARGEST_PRIORITY = 2**32 - 1
"""Real Flux's, of the urgency 31."""
LAST_TIME = 1e11
"""In seconds: far beyond any job's, and few enough days for usage."""
MAX_CHARGED_SECONDS = 400 * DAY
"""Seconds of a job that are charged at most: each day is a row, and none may have a longer limit."""
CLOCKS_DIFFER = 3600.0
"""Seconds by which an instance's times may be before a request, or later than now."""
END_SECONDS = 600.0
"""Seconds that a job may have beyond its time limit: Flux sends it signals first."""
MAX_CORES = 4096
"""Of a node."""
MAX_DEPENDENCIES = 100
"""Of a job that are stored: as many as may be submitted."""
LOST = "lost"
"""The type of the exception of a job that its instance does not know any more (not one of Flux's)."""


class Owned(NamedTuple):
    """What the service knows of a job, and the instance does not prove."""

    owner: str = NOBODY
    request: str = ""
    restart_of: int | None = None


class Charging(NamedTuple):
    """What bounds the charges for a cluster's jobs."""

    now: float
    """By the service's clock."""
    owner: str | None = None
    """The user whose own the cluster is, who may have it report what he likes; None: it is a shared one."""


def new_record(
    cluster: str, instance: str, jobid: int, owned: Owned, nodes: int = 0, seconds: float = 0.0
) -> JobRecord:
    """Return the record of a job of which nothing else is known yet but what its request reserved."""
    return JobRecord(
        cluster, instance, jobid, owned.owner, owned.request, nnodes=nodes, duration=seconds,
        restart_of=owned.restart_of,
    )  # fmt: skip


def projected(before: JobRecord, job: Job, *, own: bool = False) -> JobRecord:
    """Return the record of a job as it is now; `own` is whether the cluster is somebody's own."""
    after = _reported(before, job)
    return bounded(before, after) if own else after


def _reported(before: JobRecord, job: Job) -> JobRecord:
    exception = job.exception
    t_submit = seconds(job.t_submit) or before.t_submit
    return replace(
        before,
        status=status_of(job.state, job.result),
        name=_cut(job.name, 4096) or before.name,
        queue=_cut(job.queue, 255) or before.queue,
        urgency=_whole(job.urgency),
        priority=None if job.priority is None else _whole(job.priority, LARGEST_PRIORITY),
        nnodes=_count(job.nnodes) or before.nnodes,
        ntasks=_count(job.ntasks) or before.ntasks,
        ncores=_count(job.ncores) or before.ncores,
        duration=seconds(job.duration) or before.duration,
        expiration=seconds(job.expiration),
        t_submit=t_submit,
        t_listed=before.t_listed or t_submit,
        t_run=seconds(job.t_run),
        t_cleanup=seconds(job.t_cleanup),
        t_inactive=seconds(job.t_inactive),
        nodelist=_cut(job.nodelist, 65_536),
        returncode=_returncode(job),
        exception_type="" if exception is None else _cut(exception.type, 64),
        exception_severity=0 if exception is None else _whole(exception.severity),
        exception_note="" if exception is None else _cut(exception.note, 4096),
        dependencies=json.dumps([_cut(each, 255) for each in job.dependencies[:MAX_DEPENDENCIES]]),
        annotations=_annotations(job) or before.annotations,
    )


def bounded(before: JobRecord, after: JobRecord) -> JobRecord:
    """Return a user's job at somebody's own cluster with no more than its request reserved.

    `before` has that, or what was reported since. Otherwise the cluster's owner could use up others' quotas
    by what he lets it report.
    """
    if not before.request:
        return after
    nodes = min((each for each in (before.nnodes, after.nnodes) if each), default=0)
    limit = min((each for each in (before.duration, after.duration) if each), default=0.0)
    return replace(after, nnodes=nodes, ncores=min(after.ncores, nodes * MAX_CORES), duration=limit)


# What is behind an instance is not trusted: a broker of somebody's own sends what it likes.


def _count(value: Any) -> int:
    """Return how many there are: 0 in place of what is no such number."""
    return max(0, _whole(value))


def _whole(value: Any, most: int = LARGEST) -> int:
    """Return a number as a column has it: 0 in place of anything else, and the nearest one there is."""
    return max(-most, min(value, most)) if type(value) is int else 0


def seconds(value: Any) -> float:
    """Return a time, or a duration; 0 in place of what is none."""
    good = isinstance(value, int | float) and 0 <= value <= LAST_TIME
    return float(value) if good else 0.0


def _returncode(job: Job) -> int | None:
    try:
        found = job.returncode
    except (OverflowError, TypeError, ValueError):
        return None
    return None if found is None else _whole(found)


def _cut(text: Any, most: int) -> str:
    """Return a text as it can be stored."""
    if not isinstance(text, str):
        return ""
    return text[:most].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _annotations(job: Job) -> str:
    try:
        text = json.dumps(job.annotations, allow_nan=False, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return "{}"
    good = isinstance(job.annotations, dict) and len(text) <= 16_384
    return text.encode("utf-8", "replace").decode() if good else "{}"


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


def charges(
    before: JobRecord, after: JobRecord, at: float, charging: Charging
) -> tuple[JobRecord, list[Charge]]:
    """Return a job's record with what it used until now charged, and the charges.

    A job is charged when it ends, and when its size changes, for the size before. What is charged once is not
    charged again, whatever part of the journal is read twice. Nothing is charged from before its request, nor
    from times to come; at somebody's own cluster a job is charged once, for its time limit at most.
    """
    ended = after.t_cleanup or after.t_inactive
    resized = before.t_run > 0 and (before.nnodes, before.ncores) != (after.nnodes, after.ncores)
    end = ended if not after.active and ended else at if resized and charging.owner is None else 0.0
    end = min(end, charging.now + CLOCKS_DIFFER)
    own = charging.owner is not None
    most_seconds = after.duration + END_SECONDS if own and after.duration else MAX_CHARGED_SECONDS
    begin = max(
        before.charged_until, after.t_run, end - most_seconds, _requested(after, charging.now) - CLOCKS_DIFFER
    )
    if not after.t_run or end <= begin:
        return after, []
    size = before if before.t_run else after
    charged = replace(after, charged_until=end)
    if not after.owner or not after.request or not _is_charged(before, after, charging.owner):
        return charged, []
    return charged, [
        Charge(after.owner, day, part * size.nnodes, part * size.ncores) for day, part in by_day(begin, end)
    ]


def _is_charged(before: JobRecord, after: JobRecord, cluster_owner: str | None) -> bool:
    """Return whether a job is charged, as far as that depends on whose the cluster is.

    At somebody's own it may be reported to have ended many times, or to have been restarted for others.
    """
    if cluster_owner is None:
        return True
    return not before.charged_until and (after.restart_of is None or after.owner == cluster_owner)


def _requested(record: JobRecord, now: float) -> float:
    """Return when a job's request came; 0: its id does not say, as the service's clock has been put back."""
    try:
        found = made_at(record.request)
    except ValueError:
        return 0.0
    return found if found <= now else 0.0


def by_day(begin: float, end: float) -> Iterator[tuple[int, float]]:
    """Yield each day of a time, in days since 1970, and how many seconds of it were on that day."""
    while begin < end:
        day = int(begin // DAY)
        until = min(end, (day + 1) * DAY)
        yield day, until - begin
        begin = until
