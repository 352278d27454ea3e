"""What the artefact of paper A does where it differs from the paper: the quirks behind its published figures.

Kept beside the benchmark, for comparison only; `queue_policies` does it as the paper defines it. The quirks:

* Its sorted lists are not sorted: jobs are walked last in, first out (`repaired` sorts them).
* A job starts at its max only if that leaves it strictly above its min; else, and whenever others shrink
  for it, it starts at its min. Donors give only what its min needs.
* Whether donors suffice is asked with another comparison of priorities than who of them shrinks.
* Rescaling, and starting from the queue, happen a second later.
* The first rescale counts the job's start-up as progress, and costs what the old number of replicas costs.
* What ends or rescales a job drops its other events, also a rescale whose slots were given away before.
* Utilization is sampled every 2 s.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queue_policies.simulator.speedup import PiecewiseLinear
from queue_policies.simulator.workloads import charm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.simulator.cost import Relaunch

DELAY = 1
NEVER = 100_000 * 60.0
VARIANTS = ("elastic", "moldable", "min", "max")


@dataclass(eq=False)
class LegacyJob:
    """A job by replicas, which are its slots less one for the launcher."""

    min: int
    max: int
    priority: int
    time: PiecewiseLinear
    balancing: float
    replicas: int = 0
    done: float = 0.0
    last: float = 0.0
    submitted: float = 0.0
    started: float = 0.0
    ended: float = 0.0
    status: str = ""

    def seconds_left(self) -> float:
        """At its present size."""
        return self.time.seconds(self.replicas + 1) * (1 - self.done)


@dataclass(eq=False)
class Event:
    """Compared by time alone: which of two at one time comes first is up to the heap."""

    time: float
    what: str
    job: LegacyJob | None = None
    replicas: int = 0

    def __lt__(self, other: Event) -> bool:
        return self.time < other.time


@dataclass
class Legacy:
    """The artefact's simulator."""

    free: int
    gap: float
    repaired: bool
    cost: Relaunch = field(default_factory=charm.cost)
    heap: list[Event] = field(default_factory=list)
    running: list[LegacyJob] = field(default_factory=list)
    queued: list[LegacyJob] = field(default_factory=list)
    log: list[Event] = field(default_factory=list)

    def run(self, jobs: Sequence[LegacyJob], every: float) -> list[Event]:
        """Simulate jobs submitted at equal gaps; return what happened to them."""
        for index, job in enumerate(jobs):
            self._add(index * every, "submit", job)
        while self.heap:
            event = heapq.heappop(self.heap)
            if event.what not in {"timer", "divide"}:
                self.log.append(event)
            getattr(self, f"_on_{event.what}")(event)
        return self.log

    def _add(self, time: float, what: str, job: LegacyJob | None = None, replicas: int = 0) -> None:
        heapq.heappush(self.heap, Event(time, what, job, replicas))

    def _put(self, jobs: list[LegacyJob], job: LegacyJob) -> None:
        jobs.append(job)
        if self.repaired:
            jobs.sort(key=lambda each: (each.priority, -each.submitted))

    def _drop(self, job: LegacyJob) -> None:
        """Drop a job's events, while walking the list that this changes."""
        index = 0
        while index < len(self.heap):
            event = self.heap[index]
            if event.job is job:
                same = next(i for i, e in enumerate(self.heap) if e.job is job and e.time == event.time)
                del self.heap[same]
                heapq.heapify(self.heap)
            index += 1

    def _on_submit(self, event: Event) -> None:
        job = self._job(event)
        job.submitted = event.time
        replicas = self._room(event.time, job)
        if not replicas:
            self._put(self.queued, job)
            return
        self._add(event.time, "start", job, replicas)
        self.free -= replicas + 1

    def _on_start(self, event: Event) -> None:
        job = self._job(event)
        job.replicas, job.last, job.status, job.started = event.replicas, event.time, "running", event.time
        self._put(self.running, job)
        up = self.cost.base + self.cost.unit * (job.replicas + 1)
        self._add(event.time + job.seconds_left() + up, "complete", job)

    def _on_complete(self, event: Event) -> None:
        job = self._job(event)
        job.ended = event.time
        self.free += job.replicas + 1
        self._drop(job)
        self.running.remove(job)
        self._divide(event.time)

    def _on_rescale(self, event: Event) -> None:
        job = self._job(event)
        self._drop(job)
        overhead = job.balancing + self.cost.base + self.cost.unit * (job.replicas + 1)
        job.done += (event.time - job.last) / job.time.seconds(job.replicas + 1)
        job.replicas, job.last, job.status = event.replicas, event.time + overhead, "running"
        self._add(job.last + job.seconds_left(), "complete", job)

    def _on_divide(self, event: Event) -> None:
        if self.free > 0:
            self._divide(event.time)

    def _on_timer(self, event: Event) -> None:
        for index in range(len(self.queued) - 1, -1, -1):
            job = self.queued[index]
            replicas = self._room(event.time, job)
            if replicas > 0:
                self._add(event.time + DELAY, "start", job, replicas)
                self.free -= replicas + 1
                del self.queued[index]

    def _divide(self, now: float) -> None:
        """Give free slots to running and queued jobs, from the ends of both lists."""
        run, wait, timer = len(self.running) - 1, len(self.queued) - 1, math.inf
        while self.free > 0 and (run >= 0 or wait >= 0):
            if wait < 0 or (run >= 0 and self.running[run].priority > self.queued[wait].priority):
                timer = min(timer, self._widen(self.running[run], now))
                run -= 1
                continue
            job = self.queued.pop(wait)
            wait -= 1
            replicas = min(job.max, self.free - 1)
            if replicas < job.min:
                self._put(self.queued, job)
                continue
            self.free -= replicas + 1
            self._add(now + DELAY, "start", job, replicas)
        if timer < math.inf:
            self._add(now + timer + DELAY, "divide")

    def _widen(self, job: LegacyJob, now: float) -> float:
        """Grow a running job; return for how long its gap keeps it from that."""
        if job.replicas >= job.max:
            return math.inf
        if job.status == "running" and job.last + self.gap > now:
            return self.gap - now + job.last
        if job.status != "expanding":
            replicas = min(job.max, job.replicas + self.free)
            self.free -= replicas - job.replicas
            self._add(now + DELAY, "rescale", job, replicas)
            job.status = "expanding"
        return math.inf

    def _room(self, now: float, job: LegacyJob) -> int:
        """At how many replicas a job can start now; donors shrink for it. 0: not at all."""
        replicas = min(job.max, self.free - 1)
        if replicas > job.min:
            return replicas
        if self._lacking(now, job) > 0:
            return 0
        lacking = job.min - self.free + 1
        for donor in self.running:
            if lacking <= 0:
                break
            if donor.status != "running" or donor.last + self.gap > now:
                continue
            if donor.priority > job.priority:
                break
            if donor.replicas > donor.min:
                smaller = max(donor.min, donor.replicas - lacking)
                self._add(now + DELAY, "rescale", donor, smaller)
                donor.status = "expanding"
                lacking -= donor.replicas - smaller
                self.free += donor.replicas - smaller
        return job.min

    def _lacking(self, now: float, job: LegacyJob) -> int:
        """How many slots are missing for its min when all donors have given."""
        lacking, timer = job.min - self.free + 1, math.inf
        for donor in self.running:
            if lacking <= 0:
                break
            if donor.status != "running":
                continue
            if donor.priority >= job.priority:
                break
            if donor.replicas > donor.min:
                if donor.last + self.gap < now:
                    lacking -= donor.replicas - max(donor.min, donor.replicas - lacking)
                else:
                    timer = min(timer, donor.last + self.gap - now)
        if timer < math.inf:
            self._add(now + timer + DELAY, "timer")
        return lacking

    @staticmethod
    def _job(event: Event) -> LegacyJob:
        if event.job is None:
            raise ValueError(f"event {event.what} is about no job")
        return event.job


def simulate(
    drawn: Sequence[charm.Draw], variant: str, every: float, gap: float, repaired: bool
) -> dict[str, float]:
    """Run one set; return total, weighted response and completion, and utilization."""
    jobs = [_job(each, variant) for each in drawn]
    simulator = Legacy(charm.SLOTS, gap if variant == "elastic" else NEVER, repaired)
    log = simulator.run(jobs, every)
    weight = sum(job.priority for job in jobs)
    return {
        "total": log[-1].time,
        "response": sum(job.priority * (job.started - job.submitted) for job in jobs) / weight,
        "completion": sum(job.priority * (job.ended - job.submitted) for job in jobs) / weight,
        "utilization": _sampled(log),
    }


def _job(drawn: charm.Draw, variant: str) -> LegacyJob:
    size = drawn.size
    least = size.max if variant == "max" else size.min
    most = size.min if variant == "min" else size.max
    time = PiecewiseLinear(size.iteration, scale=float(size.steps))
    return LegacyJob(least - 1, most - 1, drawn.priority, time, size.balancing)


def _sampled(log: Sequence[Event]) -> float:
    """Slots used, sampled every 2 s until just after the end."""
    samples = 1 + int((log[-1].time + 3) // 2)
    allocated: dict[int, int] = {}
    changes = [0] * (samples + 1)
    for event in log:
        if event.what == "submit":
            continue
        slots = 0 if event.what == "complete" else event.replicas + 1
        at = min(int(event.time // 2) + 1, samples)
        changes[at] += slots - allocated.get(id(event.job), 0)
        allocated[id(event.job)] = slots
    used = total = 0
    for change in changes[:samples]:
        used += change
        total += used
    return total / samples / charm.SLOTS
