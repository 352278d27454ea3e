"""Brings jobs to rest before a save: none starts, running ones have some time, the rest is restarted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from broker_config.formats.job_states import JobState
from broker_config.formats.jobid import f58plain
from minicluster.save_restore import restarts
from minicluster.save_restore.link_jobs import TIMEOUT, LinkJobs
from minicluster.save_restore.restarts import RestartOutcome
from minicluster.save_restore.state_files import WAITING, WRITING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.link import BrokerLink, LeadLink
    from minicluster.save_restore.state_files import StateFiles

POLL_INTERVAL = 0.1
"""Seconds between two polls of the jobs that still run."""
ANSWER_TIMEOUT = 30.0
"""Seconds that canceled jobs have to end; Flux kills those that ignore SIGTERM after five."""
LOCKED = 60.0
"""Seconds to wait for another restart of jobs."""
IDLE = 1.0
"""Seconds to wait for the job manager's answer that no job runs."""
ROUNDS = 3
REASON = "the MiniCluster is saved"


def settle(link: LeadLink, state_files: StateFiles, timeout: float, report: Callable[[str], None]) -> None:
    """Stop the queues, wait, restart the jobs that still run after `timeout` seconds, and note the outcome.

    Raises Refused or InstanceGone if the instance does not do it.
    """
    state_files.progress(WAITING)
    link.rpc("job-manager.queue-start", {"start": False, "all": True, "reason": REASON}, TIMEOUT)
    jobs = LinkJobs(link, ANSWER_TIMEOUT)
    link.sync()
    pending = _wait(link, state_files, timeout)
    with state_files.alone(LOCKED):
        restarted: list[tuple[int, int]] = []
        lost: dict[int, str] = {}
        # Jobs that got their resources just before the queues stopped may be listed late.
        for _ in range(ROUNDS):
            if pending is not None:
                break
            late = [int(job["id"]) for job in jobs.listed(JobState.RUNNING) if int(job["id"]) not in lost]
            more = restarts.restart(jobs, late, REASON)
            link.sync()
            _report(more, report)
            restarted += more.restarted
            lost.update(more.lost)
            pending = jobs.idle(IDLE)
        outcome = RestartOutcome(restarted, list(lost.items()))
        state_files.settle({"jobs": pending or len(jobs.listed(JobState.PENDING)), **described(outcome)})
    state_files.progress(WRITING)


def _report(outcome: RestartOutcome, report: Callable[[str], None]) -> None:
    for old, new in outcome.restarted:
        report(
            f"job {f58plain(old)} did not finish: it is started again after the restore, as {f58plain(new)}"
        )
    for old, why in outcome.lost:
        report(f"job {f58plain(old)} did not finish, and is lost: {why}")


def described(outcome: RestartOutcome) -> dict[str, list[list[str]]]:
    """Return an outcome in the form of the lead API and the termination message."""
    return {
        "restarted": [[f58plain(old), f58plain(new)] for old, new in outcome.restarted],
        "lost": [[f58plain(old), why] for old, why in outcome.lost],
    }


def _wait(link: BrokerLink, state_files: StateFiles, timeout: float) -> int | None:
    """Return how many jobs are pending once none runs; None if some still run after `timeout` seconds."""
    end = time.monotonic() + timeout
    jobs = LinkJobs(link, ANSWER_TIMEOUT)
    while True:
        counts = link.rpc("job-list.job-stats", {}, TIMEOUT)["job_states"]
        running = int(counts["run"]) + int(counts["cleanup"])
        left = end - time.monotonic()
        if not running or left <= 0:
            pending = jobs.idle(IDLE)  # the job manager knows of jobs that are not listed yet
            if pending is not None or left <= 0:
                return pending
        state_files.progress(WAITING, running)
        time.sleep(max(0.0, min(POLL_INTERVAL, left)))
