"""After a restore: jobs that do not fit into this cluster are held and reported, instead of failing.

Flux ends a queued job that can never run as soon as its queue starts. So such jobs are held before that, and
their urgency is kept in a memo. An instance into which they fit restores it. (The embedded instance holds
them by itself.)
"""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

from broker_config.formats import eventlog
from broker_config.formats.job_states import JobState
from broker_config.formats.jobid import f58plain
from broker_config.formats.jobspec import system_of
from minicluster.broker_link.errors import Refused
from minicluster.save_restore import restarts
from minicluster.save_restore.link_jobs import TIMEOUT, LinkJobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.link import BrokerLink
    from minicluster.save_restore.state_files import JSON, StateFiles

MEMO = "minicluster_kept"
"""Memo of a job that is held because it does not fit: the urgency that it had."""
MAX_NAMED_JOBS = 8
_UNKNOWN = (errno.ENOSYS, errno.ETIMEDOUT, errno.EPROTO)  # the service is not there, or does not answer
_HELD = 0


def resume(link: BrokerLink, state_files: StateFiles, report: Callable[[str], None]) -> None:
    """Complete interrupted restarts, hold jobs that do not fit, and release those that fit again."""
    jobs = LinkJobs(link, 0.0)
    restarts.reconcile(jobs)
    kept: list[str] = []
    known: dict[str, str | None] = {}
    for job in jobs.listed(JobState.PENDING):
        jobid, urgency = int(job["id"]), int(job["urgency"])
        spec = json.loads(jobs.lookup(jobid, "jobspec"))
        asked = json.dumps([spec["resources"], system_of(spec).get("constraints")])
        if asked not in known:  # many jobs ask for the same
            known[asked] = _misfit(link, spec)
        reason = known[asked]
        before = _kept_urgency(jobs, jobid) if urgency == _HELD else None
        if reason is not None:
            kept.append(f"{f58plain(jobid)}: {reason}")
            report(f"job {f58plain(jobid)} does not fit into this cluster ({reason}): it is kept, and held")
            if link.engine == "flux" and urgency != _HELD:
                _memo(link, jobid, urgency)
                _urge(link, jobid, _HELD)
        elif before is not None:
            report(f"job {f58plain(jobid)} fits into this cluster again: it is held no more")
            _urge(link, jobid, before)
            _memo(link, jobid, None)
    state_files.keep(kept[:MAX_NAMED_JOBS])


def _misfit(link: BrokerLink, jobspec: JSON) -> str | None:
    """Return the scheduler's reason why a job can never run here; None if it can, or that is not known."""
    try:
        link.rpc("feasibility.check", {"jobspec": jobspec}, TIMEOUT)
    except Refused as error:
        return None if error.errnum in _UNKNOWN else error.text
    return None


def _urge(link: BrokerLink, jobid: int, urgency: int) -> None:
    link.rpc("job-manager.urgency", {"id": jobid, "urgency": urgency}, TIMEOUT)


def _memo(link: BrokerLink, jobid: int, urgency: int | None) -> None:
    link.rpc("job-manager.memo", {"id": jobid, "volatile": False, "memo": {MEMO: urgency}}, TIMEOUT)


def _kept_urgency(jobs: LinkJobs, jobid: int) -> int | None:
    """Return the urgency that the job had before we held it; None if a user holds it."""
    found = None
    for event in eventlog.events(jobs.lookup(jobid, "eventlog")):
        if event["name"] == "memo" and MEMO in event["context"]:
            found = event["context"][MEMO]
        elif event["name"] == "urgency" and event["context"]["urgency"] != _HELD:
            found = None
    return found
