"""A case: a guest was offered a fraction of a host's cores. What that cost is known when they part."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queue_policies.cosched.happiness import overrun, slowdown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from queue_policies.records import Running
    from queue_policies.sharing import JobEnd

ABSTAINED = -1.0
"""In place of the probability of an expert that had nothing to say."""
_BRIEF = 1.0  # seconds; of a shorter sharing nothing is learned


class Case(NamedTuple):
    """A case whose cost is not known yet. It is part of the policy's memory, so it has numbers only."""

    host: int
    guest: int
    since: float
    host_left: float
    """The fraction of the host's work that was left then."""
    host_rate: float
    """The fraction of its work that it did in a second, alone."""
    guest_seconds: float
    """What the guest would take alone, by its estimate."""
    probability: float
    """That of the action, as it was drawn."""
    gamma: float
    """The rate of that time."""
    advice: tuple[float, ...]
    """Each expert's probability of the action."""


class Ends:
    """What is known of jobs now: of those that ended in this decision, and of those that run."""

    def __init__(self, running: Running, ends: Mapping[int, JobEnd], now: float) -> None:
        self._running = running
        self._ends = ends
        self._now = now

    def lasts(self, case: Case) -> bool:
        """Return whether both still share cores."""
        running = self._running
        return case.guest in running and running[case.guest].host == case.host

    def hosts(self, case: Case) -> bool:
        """Return whether the host still runs."""
        return case.host in self._running

    def left(self, job: int) -> tuple[float, float] | None:
        """Return a time, and the fraction of a job's work that was left then; None: nothing is known."""
        if job in self._ends:
            end = self._ends[job]
            return end.ended, 0.0 if end.done is None else 1.0 - end.done
        left = self._running[job].left(self._now) if job in self._running else None
        return None if left is None else (self._now, left)

    def loss(self, case: Case, host_weight: float) -> float | None:
        """Return what the sharing cost, from 0 to 1; None: it was brief, or nothing is known of it."""
        host, guest = self.left(case.host), self.left(case.guest)
        if host is None or guest is None:
            return None
        until = min(host[0], guest[0])
        if until - case.since < _BRIEF:
            return None
        of_host = slowdown(host[0] - case.since, (case.host_left - host[1]) / case.host_rate)
        of_guest = slowdown(guest[0] - case.since, (1.0 - guest[1]) * case.guest_seconds)
        return host_weight * of_host + (1 - host_weight) * of_guest

    def overrun(self, case: Case) -> float | None:
        """Return the paper's loss: by how much the host, which has ended, passed its limit. None: unknown."""
        end = self._ends.get(case.host)
        return None if end is None else overrun(end.ended - end.started, end.limit)
