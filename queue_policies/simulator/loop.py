"""The event loop: moves a virtual clock, and asks the policy after the changes of each time."""

from __future__ import annotations

import gc
import math
from typing import TYPE_CHECKING

from queue_policies.decision import decide, stuck
from queue_policies.records import (
    Change,
    CpuQuota,
    Grow,
    Happened,
    Preempt,
    Remember,
    Shrink,
    Start,
    State,
    WakeAt,
)
from queue_policies.simulator.calendar import Calendar
from queue_policies.simulator.execution import SimulatedExecution
from queue_policies.simulator.outcome import Requested, RunOutcome, WeightSample
from queue_policies.simulator.simulation_options import SimulationOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queue_policies.policy import Policy
    from queue_policies.records import Action
    from queue_policies.simulator.workload import Workload

IDLE_DECISIONS = (
    1000  # decisions in a row for which a policy may ask without doing anything while nothing runs
)


def simulate(
    workload: Workload,
    policy: Policy,
    options: SimulationOptions | None = None,
    watcher: Callable[[State, float, Sequence[Action]], None] | None = None,
) -> RunOutcome:
    """Run all jobs of a workload under a policy.

    `watcher` is called with each state, time and answer before the actions are applied. Raises PolicyDefect,
    with policy, job and state, if the policy raises, returns an impossible action, or never starts a job.
    """
    collects = gc.isenabled()
    gc.disable()  # nothing here makes cycles, and looking for them takes a tenth of the time
    try:
        return _Simulation(workload, policy, options or SimulationOptions(), watcher).run()
    finally:
        if collects:
            gc.enable()


class _Simulation:
    def __init__(
        self,
        workload: Workload,
        policy: Policy,
        options: SimulationOptions,
        watcher: Callable[[State, float, Sequence[Action]], None] | None,
    ) -> None:
        self._workload = workload
        self._policy = policy
        self._watcher = watcher
        self._seed = options.seed
        self._calendar = Calendar()
        self._execution = SimulatedExecution(workload, self._calendar, options)
        self._queue, self._machine = self._execution.queue, self._execution.machine
        self._jobs = workload.jobs
        self._arrived = 0
        self._arrival = self._arrives()  # the next one
        self._wake = math.inf
        self._ticks = 0  # so far
        self._tick_at = 0.0 if workload.tick else math.inf  # the next one
        self._changes: list[Change] = []
        self._memory = options.memory
        self._weights: list[WeightSample] = []
        self._notes: list[str] = []
        self._decisions = 0
        self._in_vain = 0

    def run(self) -> RunOutcome:
        now = -math.inf
        while True:
            moment = self._next_moment(now)
            if moment == math.inf:
                break
            now = moment
            self._gather(now)
            if self._changes and self._can_decide():
                self._decide(now)
        if len(self._queue):
            raise stuck(self._policy, self._state([], now), now)
        outcomes = self._execution.outcomes
        return RunOutcome(
            self._workload.name,
            self._policy.name,
            self._seed,
            self._workload.total,
            self._workload.unit,
            tuple(outcomes[job.id] for job in self._workload.jobs),
            self._decisions,
            tuple(
                Requested(job.min, job.max, job.malleable and job.min < job.max, job.limit)
                for job in self._workload.jobs
            ),
            self._workload.nodes,
            tuple(self._execution.allocations[job.id] for job in self._workload.jobs)
            if self._workload.nodes
            else (),
            self._execution.core_sets.quotas,
            tuple(self._weights),
            tuple(self._notes),
            self._memory,
        )

    def _can_decide(self) -> bool:
        """Return whether a decision can have an effect, and no shrink blocks it."""
        if not self._machine.malleable and not len(self._queue) and not self._execution.core_sets.busy:
            return False  # the changes are kept until the next arrival
        return not (self._execution.orders.shrinking and self._workload.cost.blocking)

    def _next_moment(self, now: float) -> float:
        arrival, execution = self._arrival, self._execution
        moment = min(self._calendar.next_time(), arrival)
        if not execution.active:
            waiting = len(self._queue)
            if arrival == math.inf and (not waiting or self._in_vain >= IDLE_DECISIONS):
                return math.inf  # all have ended, or the rest is left waiting
            if arrival < math.inf and not waiting:
                return moment
        if self._tick_at <= now:
            tick = self._workload.tick
            self._ticks = max(self._ticks, math.floor(now / tick)) + 1
            self._tick_at = self._ticks * tick
        return min(moment, self._tick_at, self._wake)

    def _arrives(self) -> float:
        return self._jobs[self._arrived].submitted if self._arrived < len(self._jobs) else math.inf

    def _gather(self, now: float) -> None:
        """Apply all events of this time."""
        calendar, execution, changes = self._calendar, self._execution, self._changes
        while calendar.next_time() == now:
            changes += execution.happen(calendar.pop())
        while self._arrival == now:
            changes.append(execution.arrive(self._jobs[self._arrived]))
            self._arrived += 1
            self._arrival = self._arrives()
        if self._wake <= now or self._tick_at <= now:
            changes.append(Change(Happened.WOKEN))
            self._wake = math.inf if self._wake <= now else self._wake

    def _state(self, changes: list[Change], now: float) -> State:
        machine, core_sets = self._machine, self._execution.core_sets
        queue, running, cluster = self._queue, machine.running, machine.cluster
        if core_sets.sharing is None:
            return State(queue, running, cluster, changes, True, (), self._memory)
        core_sets.report(now)
        ends, core_sets.ends = tuple(core_sets.ends), []
        return State(queue, running, cluster, changes, True, ends, self._memory, core_sets.sharing)

    def _decide(self, now: float) -> None:
        changes, self._changes = self._changes, []
        state = self._state(changes, now)
        actions = decide(self._policy, state, now)
        self._decisions += 1
        if self._watcher is not None:
            self._watcher(state, now, actions)
        acted = False
        for action in actions:
            if isinstance(action, Start):
                self._start(action, now)
                acted = True
            elif isinstance(action, (Grow, Shrink)):
                self._execution.resize(action.job, action.size, now)
                acted = True
            elif isinstance(action, Preempt):
                self._execution.preempt(action.job, now)
                acted = True
            elif isinstance(action, WakeAt):
                self._wake = min(self._wake, action.time)
            elif isinstance(action, CpuQuota):
                self._execution.core_sets.limit(action.job, action.fraction, now)
            elif isinstance(action, Remember):
                self._remember(action, now)
        self._in_vain = 0 if acted or self._execution.active else self._in_vain + 1

    def _start(self, action: Start, now: float) -> None:
        if action.on is None:
            self._execution.start(action.job, action.size, action.after, now)
        else:
            self._execution.core_sets.begin_guest(action.job, action.on, action.fraction, now)

    def _remember(self, action: Remember, now: float) -> None:
        self._memory = action.memory
        if action.note:
            self._notes.append(action.note)
        remembered = getattr(self._policy, "remembered", None)
        if remembered is not None:
            weights = tuple(remembered(action.memory).items())
            if not self._weights or self._weights[-1].weights != weights:
                self._weights.append(WeightSample(now, weights))
