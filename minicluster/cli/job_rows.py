"""Jobs as rows of a listing, the same for `jobs`, `status` and `top`."""

from __future__ import annotations

import os
import pwd
import time
from typing import TYPE_CHECKING, Any

from minicluster.cli import elastic_jobs, shared_cores
from minicluster.cli.job_reasons import WORDING, ending
from minicluster.cli.job_words import written
from minicluster.cli.tables import age
from minicluster.instance import stand_ins
from minicluster.instance.records import JobResult, JobState
from minicluster.instance.wait_reasons import context, waits_by_itself, where, why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from minicluster.instance.port import Instance
    from minicluster.instance.records import BurstSummary, Job

JobRow = dict[str, Any]
TIMES = ("t_submit", "t_depend", "t_run", "t_cleanup", "t_inactive", "expiration")
"""Times as Flux names them, in seconds since 1970; None: not yet."""
_SAME_NAME = ("userid", "queue", "urgency", "priority", "duration", "nodelist")
_USUAL = {"queue": "", "urgency": 16}
"""Columns that are left out where every job has this value."""


def rows(
    instance: Instance, jobs: Sequence[Job], bursts: Callable[[], Sequence[BurstSummary]] = tuple
) -> list[JobRow]:
    """Return jobs as rows. What pending ones wait for is asked of the instance; `bursts` reads open ones."""
    here = instance.links.inherits_environment
    asked = any(
        job.state in JobState.PENDING or (job.state in JobState.RUNNING and job.queue) for job in jobs
    )
    around = context(instance.jobs, instance.queues, instance.nodes, WORDING, bursts) if asked else None
    alike = [job for job in jobs if stand_ins.may_stand_in(job)]
    stood_for = stand_ins.labels(instance.overview, alike) if alike else {}

    def info(job: Job) -> str:
        if label := stood_for.get(job.id):
            return _elsewhere(label, bursts())
        if around is not None and job.state in JobState.PENDING:
            return why(job, around)
        in_burst = where(job, around) if around is not None and job.state in JobState.RUNNING else ""
        return f"{_begun(job)}{in_burst}"

    return [_row(job, info(job), job.owner or user(job.userid, here=here)) for job in jobs]


def _elsewhere(label: str, bursts: Iterable[BurstSummary]) -> str:
    """Return where the job runs for which another one stands in."""
    found = next((each for each in bursts if each.id == label), None)
    return f"runs elsewhere; burst {label}{f' of {found.provider}' if found is not None else ''}"


def dumped_rows(jobs: Iterable[Job]) -> list[JobRow]:
    """Return the jobs of a dump as rows. Users of the machine that it is from are numbers, except for you."""
    own = os.getuid()
    return [
        _row(
            job,
            _begun(job) if job.result else waits_by_itself(job, WORDING) or "waited when it was saved",
            user(job.userid, here=job.userid == own),
        )
        for job in jobs
    ]


def with_submitted(found: Iterable[JobRow]) -> list[JobRow]:
    """Return rows with how long ago each job was submitted, as users read it."""
    now = time.time()
    return [{**row, "submitted": age(now - row["t_submit"])} for row in found]


def columns(found: Iterable[JobRow], names: Iterable[str]) -> list[str]:
    """Return those of the columns that say something."""
    listed = list(found)
    return [name for name in names if name not in _USUAL or any(row[name] != _USUAL[name] for row in listed)]


def user(userid: int, *, here: bool) -> str:
    """Return a user's name; elsewhere than `here` users have other names, and the number is shown."""
    if not here and userid:
        return str(userid)
    try:
        return pwd.getpwuid(userid).pw_name
    except KeyError:
        return str(userid)


def _begun(job: Job) -> str:
    """Return what is special about a job that runs or has run, else where it does, or how it ended."""
    if job.result in {None, JobResult.COMPLETED}:
        return elastic_jobs.information(job) or shared_cores.information(job) or job.nodelist
    return ending(job)


def _row(job: Job, info: str, owner: str) -> JobRow:
    end = job.t_inactive or time.time()
    return {
        "id": written(job.id),
        "name": job.name,
        "state": job.result.name if job.result else job.state.name,
        "tasks": job.ntasks,
        "nodes": job.nnodes or None,  # not known before it runs
        "time": age(end - job.t_run) if job.t_run else "",
        "ranks": job.ranks,
        "exit_code": job.returncode,
        "exception": (job.exception.note or job.exception.type) if job.exception else "",
        "user": owner,
        **{name: getattr(job, name) for name in _SAME_NAME},
        "cores": job.ncores or None,
        "dependencies": list(job.dependencies),
        **{name: getattr(job, name) or None for name in TIMES},
        "runtime": (job.t_cleanup or end) - job.t_run if job.t_run else None,
        "info": info,
        **elastic_jobs.sizes(job),
        **shared_cores.pairing(job),
        "companion_of": elastic_jobs.companion_of(job),
        "command": None,  # no listing of an instance has it
    }
