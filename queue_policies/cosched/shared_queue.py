"""EASY's reservation where jobs share cores: a host's cores are free once its guests have ended, too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from queue_policies.easy import reservation
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from queue_policies.easy import Schedule
    from queue_policies.records import QueuedJob, Running, RunningJob, State


def with_guests(running: Running) -> Running:
    """Return the running jobs, a host with the last end among its guests' and its own."""
    jobs = list(running.by_end())
    if not any(job.guests for job in jobs):
        return running
    return RunningJobs(_with_end(job, running) if job.guests else job for job in jobs)


def _with_end(host: RunningJob, running: Running) -> RunningJob:
    ends = [running[guest].end for guest in host.guests if guest in running]
    return host._replace(end=max(host.end, *ends)) if ends else host


class Promise(NamedTuple):
    """When the head of the queue could start as it became the head."""

    head: int
    at: float


class HeadRoom:
    """What guests may keep of their hosts' cores: the head starts no later than `delay` after its promise."""

    def __init__(
        self, state: State, schedule: Schedule, now: float, promise: Promise | None, delay: float
    ) -> None:
        self._state = state
        self._schedule = schedule
        self._now = now
        self._head = schedule.head
        self._shadow, self._extra = reservation(state, schedule, now) if schedule.head else (math.inf, 0)
        self.promise = self._promise(promise)
        """For the present head; None: there is none, or it is not known when it can start."""
        self._latest = math.inf if self.promise is None else self.promise.at + delay

    def _promise(self, promise: Promise | None) -> Promise | None:
        if self._head is None:
            return None
        if promise is not None and promise.head == self._head.id:
            return promise
        return Promise(self._head.id, self._shadow) if self._shadow < math.inf else None

    def admits(self, guest: QueuedJob, host: RunningJob) -> bool:
        """Return whether this guest may start on this host's cores."""
        if self._head is None or guest.id == self._head.id or not self._delays(guest, host):
            return True
        return guest.request.size <= self._extra or self._with(guest, host)[1] <= self._latest

    def keep(self, guest: QueuedJob, host: RunningJob) -> None:
        """Count a guest that starts."""
        if self._head is not None and guest.id != self._head.id and self._delays(guest, host):
            self._state, self._shadow, self._extra = self._with(guest, host)

    def _delays(self, guest: QueuedJob, host: RunningJob) -> bool:
        """Return whether the guest would keep units that its host returns before the head is to start."""
        return host.end <= self._shadow < self._now + guest.limit

    def _with(self, guest: QueuedJob, host: RunningJob) -> tuple[State, float, int]:
        """Return the state with this guest, when the head can start then, and what it leaves to others."""
        end = self._now + guest.limit
        running = (
            job._replace(end=end) if job.id == host.id else job for job in self._state.running.by_end()
        )
        state = self._state._replace(running=RunningJobs(running))
        return (state, *reservation(state, self._schedule, self._now))
