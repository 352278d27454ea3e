"""Jobs that cannot finish where they run, started again, in a cluster of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.instance.errors import SubmitRefused
from minicluster.save_restore import restarts
from minicluster.save_restore.link_jobs import LinkJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.instance.port import Instance

TIMEOUT = 30.0
"""Seconds that cancelled jobs have to end; Flux kills tasks that ignore SIGTERM after five."""


@dataclass(frozen=True, slots=True)
class JobRestart:
    """A job, by its old and its new id."""

    old: int
    new: int


def restart(
    instance: Instance, jobids: Iterable[int], reason: str, report: Callable[[JobRestart], None]
) -> None:
    """Restart running jobs, and move what depends on them. Returns when the old ones ended.

    Raises SubmitRefused where a job could not be copied; the others are restarted all the same.
    """
    with instance.links.borrowed() as link:
        outcome = restarts.restart(LinkJobs(link, TIMEOUT), jobids, reason)
    for old, new in outcome.restarted:
        report(JobRestart(old, new))
    if outcome.lost:
        raise SubmitRefused("; ".join(f"{jobid}: {why}" for jobid, why in outcome.lost))
