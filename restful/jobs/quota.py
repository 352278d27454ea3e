"""Quotas: what a user's jobs may use at most, in arithmetic alone. Pure.

A job counts from its request on: a reservation first, then as a job until it ends. Both are added up in the
transaction that writes the reservation, so that two requests at once cannot both get the last of a quota.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from restful.errors import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY = 86_400.0


class Quota(NamedTuple):
    """Limits; None: none."""

    jobs: int | None = None
    """Jobs that have not ended."""
    queued_jobs: int | None = None
    """Those of them that have not begun."""
    nodes: int | None = None
    """Nodes of all these jobs together."""
    node_seconds: float | None = None
    """Node-seconds used within `window`, and those that jobs not ended may still use."""
    window: float = 30 * DAY
    """In seconds."""


class Reservation(NamedTuple):
    """What a job may use at most."""

    nodes: int
    seconds: float
    """Its time limit; 0: none."""

    @property
    def node_seconds(self) -> float:
        """Return the most that it may use; infinite without a time limit."""
        return self.nodes * self.seconds if self.seconds else math.inf


class Use(NamedTuple):
    """What a user's jobs have and had."""

    jobs: int = 0
    queued: int = 0
    """Jobs that have not begun."""
    nodes: int = 0
    committed: float = 0.0
    """Node-seconds that jobs not ended may use at most."""
    spent: float = 0.0
    """Node-seconds used within the window by jobs that ended."""

    def plus(self, job: Reservation) -> Use:
        """Return the use with one more job."""
        committed = self.committed + job.node_seconds
        return Use(self.jobs + 1, self.queued + 1, self.nodes + job.nodes, committed, self.spent)


def excess(quota: Quota, use: Use, job: Reservation) -> str:
    """Return which limit one more job would exceed, in a sentence; empty: it fits."""
    then = use.plus(job)
    if quota.jobs is not None and then.jobs > quota.jobs:
        return f"quota of {quota.jobs} jobs at a time: {use.jobs} have not ended; wait for one, or cancel one"
    if quota.queued_jobs is not None and then.queued > quota.queued_jobs:
        return (
            f"quota of {quota.queued_jobs} queued jobs: {use.queued} have not begun;"
            " wait for one, or cancel one"
        )
    if quota.nodes is not None and then.nodes > quota.nodes:
        return f"quota of {quota.nodes} nodes: your jobs have {use.nodes}, and this one asks for {job.nodes}"
    if quota.node_seconds is None or then.committed + then.spent <= quota.node_seconds:
        return ""
    if math.isinf(job.node_seconds):
        return "quota of node-hours: give a time_limit, as a job without one may use them all"
    left = max(0.0, quota.node_seconds - use.committed - use.spent)
    return (
        f"quota of {hours(quota.node_seconds)} node-hours in {_days(quota.window)}:"
        f" {hours(left)} are left, and this job may use {hours(job.node_seconds)}"
    )


def check(quota: Quota, use: Use, jobs: Sequence[Reservation]) -> None:
    """Raise HttpProblem "quota" if further jobs would exceed a limit, all of them together."""
    for number, job in enumerate(jobs):
        if reason := excess(quota, use, job):
            where = "" if len(jobs) == 1 else f"job {number + 1} of {len(jobs)} in this request: "
            raise HttpProblem("quota", where + reason)
        use = use.plus(job)


def _days(seconds: float) -> str:
    return "a day" if seconds == DAY else f"{seconds / DAY:g} days"


def hours(seconds: float) -> str:
    """Return node-seconds as node-hours, with two digits behind the point at most."""
    return f"{seconds / 3600:.2f}".rstrip("0").rstrip(".")
