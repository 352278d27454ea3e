"""One decision, checked: an impossible answer is a defect that names policy, job and state.

Both the simulator and an instance ask policies through `decide`.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING

from queue_policies import memory
from queue_policies.core_sharing import SharingChecker
from queue_policies.errors import PlacementDefect, PolicyDefect
from queue_policies.frames import last_frames
from queue_policies.records import (
    Action,
    CpuQuota,
    Grow,
    Preempt,
    Remember,
    Reserve,
    Shrink,
    Start,
    State,
    WakeAt,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.policy import Policy
    from queue_policies.records import RunningJob


def decide(policy: Policy, state: State, now: float) -> Sequence[Action]:
    """Return the policy's actions. Raises PolicyDefect if it raises or returns an impossible action.

    Raises PlacementDefect if the placement does so, on which the policy tries them.
    A policy may have an attribute `least_quota`: it is held to give no job a smaller quota.
    """
    try:
        actions = policy.decide(state, now)
    except PlacementDefect as defect:
        raise PlacementDefect(f"{defect}; {described(state, now)}") from defect
    except Exception as error:
        what = f"failed: {type(error).__name__}: {error}{last_frames(error)}"
        raise PolicyDefect(f"queue policy {policy.name} {what}; {described(state, now)}") from error
    wrong = None
    if not isinstance(actions, list | tuple):
        wrong = f"answers {actions!r}, which is no list of actions"
    elif actions:
        wrong = _Checker(state, now, getattr(policy, "least_quota", 0.0)).first_wrong(actions)
    if wrong is not None:
        raise PolicyDefect(f"queue policy {policy.name} {wrong}; {described(state, now)}")
    return actions


def stuck(policy: Policy, state: State, now: float) -> PolicyDefect:
    """Return the defect of a policy that leaves jobs queued although nothing will happen any more."""
    what = "starts none of the queued jobs, though nothing runs, and asks not to be woken"
    return PolicyDefect(f"queue policy {policy.name} {what}; {described(state, now)}")


def described(state: State, now: float) -> str:
    """Return the state in words, for a message."""
    first = ", ".join(f"{job.id} for {job.request.size}" for job in islice(state.queue, 3))
    queued = f"{len(state.queue)} queued ({'first ' if len(state.queue) > 3 else ''}{first})" if first else ""
    free, total = state.cluster.free, state.cluster.total
    queued = queued or "no job queued"
    return f"at {now:g} with {queued}, {len(state.running)} running, {free} of {total} units free"


class _Checker:
    """Checks a policy's actions in the order in which an engine applies them."""

    def __init__(self, state: State, now: float, least_quota: float) -> None:
        self._state = state
        self._now = now
        self._free = state.cluster.free
        self._started: set[int] = set()
        self._resized: dict[int, int] = {}  # by how many units each job gets smaller
        self._preempted: set[int] = set()
        self._sharing = SharingChecker(state, least_quota)

    def first_wrong(self, actions: Sequence[Action]) -> str | None:
        for action in actions:
            wrong = self._start(action) if type(action) is Start else self._wrong(action)
            if wrong is not None:
                return wrong
        return None

    def _wrong(self, action: Action) -> str | None:
        match action:
            case Grow() | Shrink():
                return self._resize(action)
            case Preempt(job):
                wrong = self._unpreemptible(job)
                self._preempted.add(job)
                return wrong and f"preempts job {job}, {wrong}"
            case CpuQuota():
                return self._sharing.quota(action)
        return _wrong_in_itself(action, self._now)

    def _start(self, action: Start) -> str | None:
        if action.job in self._started:
            return f"starts job {action.job} twice"
        if action.job not in self._state.queue:
            return f"starts job {action.job}, which is not queued"
        job = self._state.queue[action.job]
        size = job.request.size
        if action.size is not None:
            least, most = (job.elastic.min, job.elastic.max) if job.elastic else (size, size)
            size = action.size
            if not least <= size <= most:
                return f"starts job {action.job} at {size} units, which runs at {_range(least, most)}"
        for other in action.after:
            if self._resized.get(other, 0) <= 0:
                return f"starts job {action.job} after job {other} shrank, which it does not order before"
        self._started.add(action.job)
        if action.on is not None or action.fraction:
            return self._sharing.start(job, size, action, self._preempted | self._resized.keys())
        return self._take(size, action)

    def _take(self, size: int, action: Start) -> str | None:
        if size > self._free:
            return f"starts job {action.job} at {size} units where {self._free} are free"
        self._free -= size
        if not action.after:
            self._sharing.begin(action.job, size)
        return None

    def _resize(self, action: Grow | Shrink) -> str | None:
        verb = "grows" if isinstance(action, Grow) else "shrinks"
        if action.job not in self._state.running:
            return f"{verb} job {action.job}, which does not run"
        job = self._state.running[action.job]
        returned = job.size - action.size
        wrong = _not_accepting(job) or self._out_of_range(job, action)
        if action.job in self._resized:
            wrong = " after it resized it in the same answer"
        if not wrong and self._sharing.involves(action.job):
            wrong = ", which shares its cores"
        if action.job in self._preempted:
            wrong = " after it preempted it in the same answer"
        if wrong:
            return f"{verb} job {action.job} from {job.size} to {action.size} units{wrong}"
        self._free += returned
        self._resized[action.job] = returned
        return None

    def _unpreemptible(self, job: int) -> str | None:
        if not self._state.preemption:
            return "but jobs cannot be preempted here"
        if job not in self._state.running:
            return "which does not run"
        if job in self._preempted:
            return "which it preempts already"
        if job in self._resized:
            return "which it resizes in the same answer"
        if self._sharing.involves(job):
            return "which shares its cores"
        return None if self._state.running[job].preemptible else "which stops, or is amid an order"

    def _out_of_range(self, job: RunningJob, action: Grow | Shrink) -> str | None:
        least, most = (job.elastic.min, job.elastic.max) if job.elastic else (job.size, job.size)
        if not least <= action.size <= most:
            return f", which runs at {_range(least, most)}"
        if action.size == job.size or (action.size > job.size) != isinstance(action, Grow):
            return ", which is the wrong way"
        if action.size - job.size > self._free:
            return f" where {self._free} are free"
        return None


def _wrong_in_itself(action: Action, now: float) -> str | None:
    """Return what is wrong with an action, whatever runs and waits."""
    match action:
        case Reserve(job, at):
            return None if at == at else f"reserves {at} for job {job}, which is no time"  # noqa: PLR0124
        case WakeAt(time):
            return None if now < time < math.inf else f"asks to be woken at {time:g}, which is no later time"
        case Remember(value):
            wrong = memory.fault(value)
            return f"remembers {wrong}" if wrong else None
    return f"answers {action!r}, which is no action"


def _not_accepting(job: RunningJob) -> str | None:
    if job.elastic is None or not job.elastic.malleable:
        return ", which is not malleable"
    return None if job.heeds else ", which does not heed orders now"


def _range(least: int, most: int) -> str:
    return f"{least} to {most}" if least != most else f"{least}"
