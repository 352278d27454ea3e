"""Priority-based elastic scheduling: high priorities get their units by shrinking and delaying low ones.

Source: Bhosale, Chandrasekar, Kale, Kokkila-Schumacher, "An elastic job scheduler for HPC applications on
the cloud", 2025 (arXiv:2510.15147), section on the scheduling policy. Order of jobs, for every comparison:
priority descending, then submission. A job that arrives takes free units up to its largest size. If they are
fewer than its least size, running jobs behind it in the order shrink, the last one first. When a job ends,
its units go down the order, to running jobs up to their largest size and to queued ones that fit. No job is
acted on (started, grown, shrunk) again before the gap after the last action on it is over.

The printed pseudocode has errors, which are corrected here:

* The first running job can be a donor.
* The job is created after shrinking.
* All free units are given out, not just those of the job that ended.
* Both passes compare by the whole order.
* Jobs that the gap keeps from giving or receiving are tried again when it ends.

Sizes count all that a job holds, its launcher too. The paper counts slots. Here free units may not suit a job
though they are enough, such as cores of one node for two nodes. Then those behind it shrink further, and none
of them grows until it has started. No bound on starvation: a stream of higher priorities can delay a job for
ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.draft import Draft
from queue_policies.records import Action, Happened, QueuedJob, RunningJob, State
from queue_policies.settings import gap, setting
from queue_policies.walk import Walk, arrivals_only, malleable, sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

_RETRY = frozenset(Happened) - {Happened.ARRIVED, Happened.ENDED}  # after these, the queued may find donors


@dataclass(frozen=True, slots=True)
class PriorityElastic:
    """Admit by shrinking what stands behind; hand out what is free in the order."""

    name: ClassVar[str] = "priority-elastic"
    gap: float = gap(180.0)
    launcher: int = setting(0, "units to leave free for each running job beside those that it holds", least=0)

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Give out free units if a job ended, then admit jobs that arrived or may retry."""
        turn = _Turn(self, state, now)
        arrived = arrivals_only(state)
        if arrived is None:
            turn.redistribute()
            arrived = [state.queue[job] for job in _arrived(state)]
        for job in arrived:
            if not turn.draft.starts(job.id):
                turn.admit(job)
        if not state.changes or any(change.what in _RETRY for change in state.changes):
            turn.retry()
        return turn.draft.answer(now)


def _arrived(state: State) -> list[int]:
    return [
        change.job
        for change in state.changes
        if change.what is Happened.ARRIVED and change.job is not None and change.job in state.queue
    ]


class _Turn:
    """One decision."""

    def __init__(self, policy: PriorityElastic, state: State, now: float) -> None:
        self.draft = Draft(state)
        self._gap = policy.gap
        self._launcher = policy.launcher
        self._state = state
        self._now = now
        self._running = state.running.by_order()
        self._saving = False  # for a job that free units do not suit

    def admit(self, job: QueuedJob) -> bool:
        """Start the job, on free units or on those that jobs behind it give up; return whether it starts."""
        least, most = sizes(job)
        free = self._beside_launchers(self.draft.free, least)
        if free >= least:
            if self.draft.start(job, min(free, most)):
                return True
            if not self._would_fit(job):
                return False
            free = 0
        donors = self._donors(job, least - free)
        if donors is None:
            return False
        wanted = most - free
        for donor, surplus in donors:
            if wanted <= 0:
                break
            given = min(wanted, surplus)
            self.draft.shrink(donor, donor.size - given)
            wanted -= given
            free += given
        return self.draft.start(job, min(free, most))

    def retry(self) -> None:
        """Try to admit each queued job, in order. If one fails, the others of its class are not tried."""
        walk = Walk(self._state.queue.classes(self._state.cluster.total))
        while walk:
            if self.draft.starts(walk.job.id) or self.admit(walk.job):
                walk.on()
            else:
                walk.drop()

    def redistribute(self) -> None:
        """Give out free units to running and queued jobs, merged in order."""
        walk = Walk(self._state.queue.classes(self._free()))
        for job in self._running:
            while walk and walk.job.order < job.order and self._free() > 0:
                self._start_free(walk)
            if self._free() <= 0:
                return
            if not self._saving:
                self._grow(job)
        while walk and self._free() > 0:
            self._start_free(walk)

    def _start_free(self, walk: Walk) -> None:
        job = walk.job
        least, most = sizes(job)
        size = min(most, self._beside_launchers(self.draft.idle, least))
        if size >= least and self.draft.start(job, size):
            walk.on()
        else:
            self._saving = self._saving or (size >= least and self._would_fit(job))
            walk.drop()

    def _would_fit(self, job: QueuedJob) -> bool:
        """Return whether the job would fit without the malleable jobs behind it."""
        behind = (each for each in self._running if each.order > job.order)
        return self.draft.would_fit(
            job, [each.id for each in behind if each.elastic is not None and each.elastic.malleable]
        )

    def _grow(self, job: RunningJob) -> None:
        if not malleable(job) or job.elastic is None or job.size >= job.elastic.max:
            return
        if self._blocked(job):
            self.draft.wake(job.acted + self._gap)
            return
        self.draft.grow(job, min(job.elastic.max, job.size + self._free()))

    def _donors(self, job: QueuedJob, need: int) -> list[tuple[RunningJob, int]] | None:
        """Return the jobs that can give units, and how many; None if they are fewer than `need`."""
        donors: list[tuple[RunningJob, int]] = []
        wake = math.inf
        for donor in reversed(self._running):
            if donor.order < job.order:
                break
            if not malleable(donor) or donor.elastic is None or donor.size <= donor.elastic.min:
                continue
            if self.draft.resized(donor.id):
                continue
            if self._blocked(donor):
                wake = min(wake, donor.acted + self._gap)
                continue
            donors.append((donor, donor.size - donor.elastic.min))
        if sum(surplus for _, surplus in donors) >= need:
            return donors
        self.draft.wake(wake)
        return None

    def _blocked(self, job: RunningJob) -> bool:
        return self._now < job.acted + self._gap

    def _free(self) -> int:
        return self.draft.idle - self._launcher * (len(self._state.running) + self.draft.started)

    def _beside_launchers(self, free: int, least: int) -> int:
        """Return the units for a job beside all launchers. A job that needs the whole cluster gets it."""
        jobs = len(self._state.running) + self.draft.started
        left = free - self._launcher * (jobs + 1)
        return free if left < least and not jobs else left
