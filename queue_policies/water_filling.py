"""Water-filling: admission first, then every free unit goes where it saves the most.

Source: our own, from the comparison with the paper on priority-based elastic scheduling
(`priority_elastic`), which lets a job wait while others hold more than they need. Here every queued job
starts as soon as its least size is available. Surplus above the least sizes is taken from any running job,
first where the loss for each unit is least. Then free units are given out by the weighted marginal gain, as
in water-filling (Boyd and Vandenberghe, "Convex Optimization", 2004, example 5.2): weight · share left ·
(T(p) - T(p + s)) / s, with T a job's estimate. So are those of a job that starts. A running job is resized
only if the time that it saves is worth it.

With `overtake` there is no bound on starvation: jobs of small least sizes can pass one of a large least
size. Without, nothing overtakes but higher priorities.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from queue_policies.draft import Draft
from queue_policies.gain import left, run_time, steps
from queue_policies.records import Action, QueuedJob, RunningJob, RunTime, State
from queue_policies.resizing import Movable
from queue_policies.settings import gap, setting
from queue_policies.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Sequence

OBJECTIVES = ("weighted", "mean", "makespan", "order")
DONORS = ("any", "behind")


@dataclass(frozen=True, slots=True)
class WaterFilling:
    """Start all that can start; then fill up where a unit gains most."""

    name: ClassVar[str] = "water-filling"
    gap: float = gap(60.0)
    payoff: float = setting(3.0, "a running job grows where it saves this many times the overhead", least=0)
    overhead: float = setting(5.0, "seconds without progress that a resize is taken to cost", least=0)
    objective: str = setting(
        "weighted",
        "what to save: time by priority, mean time, the makespan; or go by the order",
        choices=OBJECTIVES,
    )
    donors: str = setting("any", "who gives: any running job, or those behind in the order", choices=DONORS)
    overtake: bool = setting(True, "whether jobs may start before an earlier one of a larger least size")
    serial: float = setting(0.05, "share that does not run in parallel, of a job without estimate", least=0)

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Admit, then fill."""
        turn = _Turn(self, state, now)
        turn.admit()
        turn.fill()
        return turn.draft.answer(now)


class _Vessel(NamedTuple):
    """A job that can hold more or fewer units."""

    job: RunningJob | QueuedJob
    time: RunTime
    fraction: float
    """The share of its work that is left."""
    weight: float

    def gain(self, size: int, more: int, cost: float = 0.0) -> float:
        """Return the weighted seconds that each of `more` units saves; `cost` is how long a resize takes."""
        saved = self.fraction * (self.time.seconds(size) - self.time.seconds(size + more)) - cost
        return self.weight * saved / more


class _Turn:
    """One decision."""

    def __init__(self, policy: WaterFilling, state: State, now: float) -> None:
        self.draft = Draft(state)
        self._policy = policy
        self._state = state
        self._now = now
        self._movable = Movable(state, self.draft, now, policy.gap)
        self._open = {job.id: job for job in self._movable.open}
        self._vessels = {job.id: self._vessel(job, job.end - job.started) for job in self._open.values()}
        self._started: list[QueuedJob] = []

    def _vessel(self, job: RunningJob | QueuedJob, limit: float) -> _Vessel:
        time = run_time(job, limit, self._policy.serial)
        fraction = left(job, time, self._now) if isinstance(job, RunningJob) else 1.0
        return _Vessel(job, time, fraction, self._weight(job, fraction * time.seconds(job.request.size)))

    def _weight(self, job: RunningJob | QueuedJob, seconds: float) -> float:
        """Return the weight of a second of a job that has `seconds` left to run."""
        match self._policy.objective:
            case "weighted":
                return float(max(job.priority, 1))
            case "makespan":
                return seconds
        return 1.0

    def admit(self) -> None:
        """Start queued jobs, in order, at their least sizes, on free units and on others' surplus."""
        draft = self.draft
        movable = self._movable
        surplus = sum(movable.surplus(job) for job in movable.open)
        walk = Walk(self._state.queue.classes(draft.free + surplus if self._policy.overtake else math.inf))
        while walk:
            job = walk.job
            missing = max(job.request.size - draft.free, 0)
            if missing <= surplus and self._take(job, missing):
                surplus -= missing
                if draft.start(job, job.request.size):
                    self._started.append(job)
                    walk.on()
                    continue
                wanted = movable.unsuited(job)
                if 0 < wanted <= surplus and self._take(job, wanted):
                    surplus -= wanted
            if not self._policy.overtake:
                break
            walk.drop()
        if len(self._state.queue) > draft.started:
            movable.wake_for(job for job in movable.blocked if movable.surplus(job) > 0)

    def _take(self, starter: QueuedJob, missing: int) -> bool:
        """Have running jobs give up so many units, first where the loss is least; False: they cannot."""
        if not missing:
            return True
        donors = list(self._open.values())
        if self._policy.donors == "behind":
            donors = [job for job in donors if job.order > starter.order]
        if sum(self._movable.surplus(job) for job in donors) < missing:
            return False
        heap = [each for job in donors if (each := self._loss(job, missing))]
        heapq.heapify(heap)
        while missing > 0:
            _, number, step = heapq.heappop(heap)
            job = self._open[number]
            if step <= missing:
                self.draft.shrink(job, self.draft.size(job) - step)
                missing -= step
            again = self._loss(job, missing)
            if again:
                heapq.heappush(heap, again)
        return True

    def _loss(self, job: RunningJob, missing: int) -> tuple[float, int, int] | None:
        """Return the least loss for each unit with which the job can give up to `missing`, and how many."""
        vessel, size = self._vessels[job.id], self.draft.size(job)
        cost = 0.0 if self.draft.resized(job.id) else self._policy.overhead
        losses = (
            (vessel.gain(size - n, n, -cost), job.id, n)
            for n in steps(min(missing, self._movable.surplus(job)))
        )
        return min(losses, default=None)

    def fill(self) -> None:
        """Give out free units by the marginal gain."""
        free, movable = self.draft.idle, self._movable
        if free <= 0 or movable.saving:
            return
        movable.wake_for(job for job in movable.blocked if movable.room(job) > 0)
        levels: dict[int, int] = {}
        heap = [each for vessel in self._receivers() if (each := self._gain(vessel, levels, free))]
        heapq.heapify(heap)
        while heap and free > 0:
            _, number, step = heapq.heappop(heap)
            vessel = self._vessels[number]
            if step <= free:
                levels[number] = levels.get(number, vessel.job.request.size) + step
                free -= step
            again = self._gain(vessel, levels, free)
            if again:
                heapq.heappush(heap, again)
        self._apply(levels)

    def _receivers(self) -> list[_Vessel]:
        """Return the jobs that can take more: running ones that do not shrink, and those that start."""
        started = [job for job in self._started if job.elastic]
        self._vessels.update((job.id, self._vessel(job, job.limit)) for job in started)
        numbers = [number for number in self._open if not self.draft.resized(number)]
        numbers += [job.id for job in started]
        return [self._vessels[number] for number in numbers]

    def _gain(self, vessel: _Vessel, levels: dict[int, int], free: int) -> tuple[float, int, int] | None:
        """Return the job's largest gain for each of up to `free` units, negated, and how many these are."""
        job = vessel.job
        size = levels.get(job.id, job.request.size)
        most = job.elastic.max - size if job.elastic else 0
        pays = self._policy.payoff * self._policy.overhead if isinstance(job, RunningJob) else 0.0
        before = vessel.time.seconds(job.request.size)
        order = float(-job.priority) if self._policy.objective == "order" else None
        gains = (
            (-gain if order is None else order, job.id, n)
            for n in steps(min(most, free))
            if (gain := vessel.gain(size, n)) > 0
            and vessel.fraction * (before - vessel.time.seconds(size + n)) >= pays
        )
        return min(gains, default=None)

    def _apply(self, levels: dict[int, int]) -> None:
        for number, size in levels.items():
            job = self._vessels[number].job
            if isinstance(job, RunningJob):
                self.draft.grow(job, size)
            else:
                self.draft.enlarge(job, size)
