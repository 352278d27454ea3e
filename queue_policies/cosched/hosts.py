"""Running jobs that may have a guest, and what is known of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from queue_policies.cosched.book import OwnRate
from queue_policies.cosched.happiness import happiness
from queue_policies.walk import malleable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from queue_policies.records import RunningJob

_LEAST_CPU = 0.01  # an unused core is counted as one that does a little


class PossibleHost(NamedTuple):
    """A running job that may have a guest, as it is now."""

    job: RunningJob
    cpu: float
    happiness: float
    rate: float
    """The fraction of its work that it does in a second, alone."""
    left: float
    slowdown: float
    """How much slower guests made its program than quotas explain."""


class Hosts:
    """Finds out which jobs may have a guest now: those that were not asked in the last `every` seconds."""

    def __init__(
        self, progress: Mapping[int, OwnRate], asked: Mapping[int, float], now: float, every: float
    ) -> None:
        self._progress = progress
        self._asked = asked
        self._now = now
        self._every = every

    def host(self, job: RunningJob) -> PossibleHost | None:
        """Return the job as a host, if it can be one, and enough is known of it."""
        usage = job.usage
        if usage is None or not 0 <= usage.cpu <= 1 or not 0 <= usage.memory <= 1:
            return None
        if job.stopping or job.waits or job.host is not None or job.guests or malleable(job):
            return None
        if self._now < self._asked.get(job.id, -math.inf) + self._every:
            return None
        left = job.left(self._now)
        happy = happiness(job.end - self._now, self._now - job.started, left)
        rate = None if left is None else self._rate(job, left)
        if left is None or happy is None or not rate:
            return None
        slowdown = usage.slowdown if 0 <= usage.slowdown < math.inf else 0.0
        return PossibleHost(job, max(_LEAST_CPU, usage.cpu), happy, rate, left, slowdown)

    def _rate(self, job: RunningJob, left: float) -> float:
        """Return the fraction of its work that a job does in a second, alone; 0: not known."""
        known = self._progress.get(job.id) or OwnRate(job.id, 0.0, job.started, 1.0)
        if known.rate or self._now <= known.since:
            return known.rate
        return max(0.0, (known.left - left) / (self._now - known.since))
