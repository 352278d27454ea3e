"""Restarts, under a new id, jobs that ended because their brokers were lost with their nodes.

Flux gives such a job an exception about a node failure, and jobs that wait for its success fail with it. All
of them have ended when this begins, unlike those of `restarts`: copies need not wait for their originals.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_config.formats.jobspec import companion_of
from minicluster.save_restore.errors import JobRefused
from minicluster.save_restore.restarts import (
    UNWANTED,
    RestartOutcome,
    as_copy,
    may_restart,
    original,
    redirect,
    without_dependencies,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    JSON = dict[str, Any]

MARGIN = 60.0
"""Seconds before a job's end in which `restarts` may have submitted its copy."""
_NODE_FAILURE = re.compile(r"node failure on \S+ \(rank ([0-9]+)\)")
# Types of exceptions: of a job whose shells failed, and of one that can never start.
_SHELL, _UNMET = "exec", "dependency"


class Loss(NamedTuple):
    """When a broker was lost. Times are seconds since 1970."""

    started: float
    """When its pod had started."""
    taken: float
    """When its pod was taken away."""


class FailedJob(NamedTuple):
    """A job that ended by an exception."""

    id: int
    urgency: int
    time: float
    """Its end, in seconds since 1970."""
    exception: str
    """The exception's type."""
    note: str
    """The exception's note."""
    ranks: frozenset[int] = frozenset()

    def lost_with(self, rank: int, loss: Loss) -> bool:
        """Return whether it ended because this broker was lost.

        If the broker was gone at once, Flux reports a node failure. If the broker was terminated in order,
        the exception may be one of the job's shell.
        """
        found = _NODE_FAILURE.search(self.note)
        if found is not None and int(found[1]) == rank:
            return self.time > loss.started
        return self.exception == _SHELL and rank in self.ranks and self.time > loss.taken


class History(Protocol):
    """What restarting lost jobs needs of an instance."""

    def failed(self, since: float) -> list[FailedJob]:
        """Return the jobs that were ended by an exception after a time."""

    def submitted(self, since: float) -> list[int]:
        """Return the jobs that were submitted after a time, in any state."""

    def jobspec(self, jobid: int) -> Mapping[str, Any]:
        """Return the jobspec as it was submitted."""

    def submit(self, jobspec: JSON, urgency: int) -> int:
        """Submit a jobspec as it is, and return the id. Raises JobRefused."""


def restart_lost(jobs: History, losses: Mapping[int, Loss]) -> RestartOutcome:
    """Restart jobs that ended with these ranks' brokers, and those that failed as their dependents.

    A job that has a copy already gets no other; the outcome has that copy.
    """
    failed = sorted(jobs.failed(min(loss.started for loss in losses.values())))
    lost = {job.id for job in failed if any(job.lost_with(*each) for each in losses.items())}
    if not lost:
        return RestartOutcome([], [])
    first = min(job.time for job in failed if job.id in lost)
    outcome = RestartOutcome([], [])
    moved = _copies(jobs, first - MARGIN)
    for job in failed:  # a job is younger than what it waits for
        spec = jobs.jobspec(job.id)
        if job.id in lost:
            again = None if companion_of(spec) else without_dependencies(spec)
        else:
            again = redirect(spec, moved) if job.exception == _UNMET else None
        if again is None:
            continue
        if not may_restart(spec):
            outcome.lost.append((job.id, UNWANTED))
            continue
        try:
            copy = moved.get(job.id) or jobs.submit(as_copy(again, job.id), job.urgency)
        except JobRefused as error:
            outcome.lost.append((job.id, str(error)))
        else:
            moved[job.id] = copy
            outcome.restarted.append((job.id, copy))
    return outcome


def _copies(jobs: History, since: float) -> dict[int, int]:
    """Return the copies that were submitted after a time, by original."""
    found = ((original(jobs.jobspec(jobid)), jobid) for jobid in jobs.submitted(since))
    return {old: new for old, new in found if old is not None}
