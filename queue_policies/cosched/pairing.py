"""One decision of the learner: what is learned from those who parted, and who is paired with whom."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING

from queue_policies.core_sharing import agreed, whole
from queue_policies.cosched import book, learner
from queue_policies.cosched.case import ABSTAINED, Case, Ends
from queue_policies.cosched.hosts import Hosts, PossibleHost
from queue_policies.cosched.shared_queue import HeadRoom
from queue_policies.degradation import MUCH, slowed
from queue_policies.records import Action, CpuQuota, Start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from queue_policies.cosched.learner import Distribution
    from queue_policies.cosched.options import CoschedOptions
    from queue_policies.easy import Schedule
    from queue_policies.records import Memory, QueuedJob, RunningJob, State

MAX_TRIED = 200  # jobs of the queue that are tried as guests of a host
_EPSILON = 1e-9


class Pairing:
    """The learner in one decision. `note` is what is to be logged."""

    def __init__(self, policy: CoschedOptions, state: State, now: float) -> None:
        self._policy = policy
        self._grid = policy.grid
        self._experts = policy.known_experts()
        self._state = state
        self._sharing = state.sharing
        self._now = now
        found, self.note = book.unpacked(state.memory, self._grid, self._experts)
        self._risks = found.risks
        self._counter = found.counter
        self._cases = list(found.cases)
        running = state.running
        self._asked = {job: time for job, time in found.asked if job in running}
        self._progress = {each.job: each for each in found.progress if each.job in running}
        self._promise = found.promise
        self._waiting = False
        self._no_guest = (1.0, *(0.0 for _ in self._grid[1:]))  # where all experts abstain

    def memory(self) -> Memory:
        """Return what is to be remembered."""
        return book.Book(
            self._risks,
            self._counter,
            tuple(self._cases),
            tuple(sorted(self._asked.items())),
            tuple(self._progress[job] for job in sorted(self._progress)),
            self._promise,
        ).packed(self._grid, self._experts)

    def wake(self) -> float:
        """Return when a host is to be asked again; infinite: none, or nobody waits."""
        times = [time + self._policy.every for time in self._asked.values()]
        return (
            min((time for time in times if time > self._now), default=math.inf) if self._waiting else math.inf
        )

    def learn(self) -> None:
        """Charge the costs of the cases that are over."""
        ends = Ends(self._state.running, {each.job: each for each in self._state.ends}, self._now)
        cases, self._cases = self._cases, []
        for case in cases:
            if ends.lasts(case) or (not self._policy.delayed and ends.hosts(case)):
                self._cases.append(case)
                continue
            self._part(case, ends)
            loss = ends.loss(case, self._policy.host_weight) if self._policy.two_sided else ends.overrun(case)
            if loss is not None:
                self._charge(case, loss)

    def _part(self, case: Case, ends: Ends) -> None:
        """Note what is known of who is left: a host's own rate, or that a guest is alone from now on."""
        if case.host in self._state.running:
            self._progress[case.host] = book.OwnRate(case.host, case.host_rate, 0.0, 0.0)
        elif case.guest in self._state.running and (left := ends.left(case.guest)) is not None:
            self._progress[case.guest] = book.OwnRate(case.guest, 0.0, *left)

    def _charge(self, case: Case, loss: float) -> None:
        estimate = learner.implicit(loss, case.probability, case.gamma) if self._policy.importance else loss
        costs = [0.0 if each == ABSTAINED else each * estimate for each in case.advice]
        self._risks = self._policy.charged(self._risks, costs)

    def pair(self, schedule: Schedule) -> Iterator[Action]:
        """Yield the quotas and starts of guests."""
        starting = {job.id for job, _ in schedule.starts}
        waiting = [job for job in islice(self._state.queue, MAX_TRIED) if job.id not in starting]
        self._waiting = bool(waiting)
        if not waiting:
            return
        room = HeadRoom(self._state, schedule, self._now, self._promise, self._policy.delay)
        self._promise = room.promise
        hosts = Hosts(self._progress, self._asked, self._now, self._policy.every)
        for job in sorted(self._state.running.by_order(), key=_busy):
            host = hosts.host(job)
            found = None if host is None else self._pair(host, waiting, room)
            if found is not None:
                guest, action = found
                waiting.remove(guest)
                yield CpuQuota(job.id, 1 - action)
                yield Start(guest.id, on=job.id, fraction=action)

    def _pair(
        self, host: PossibleHost, waiting: Sequence[QueuedJob], room: HeadRoom
    ) -> tuple[QueuedJob, float] | None:
        """Draw for jobs that may be guests, until one is to be; return it, and what it gets.

        Where none is to be, the host's cores stay idle, and that is what the draws cost.
        """
        left = []
        for guest in islice(self._guests(host, waiting, room), self._policy.tries):
            case, action = self._case(host, guest)
            if action:
                self._cases.append(case)
                room.keep(guest, host.job)
                return guest, action
            left.append(case)
        if left:
            self._asked[host.job.id] = self._now
        for case in left:
            self._charge(case, self._idle(host))
        return None

    def _guests(
        self, host: PossibleHost, waiting: Iterable[QueuedJob], room: HeadRoom
    ) -> Iterator[QueuedJob]:
        """Yield the jobs of the queue that may be this one's guest, in order."""
        able = (job for job in waiting if job.request.size <= host.job.size and agreed(host.job, job))
        ordered = sorted(able, key=self._need, reverse=True) if self._policy.best_fit else able
        for job in ordered:
            if not _resizable(job) and any(self._allowed(host, job)[1:]) and room.admits(job, host.job):
                yield job

    def _allowed(self, host: PossibleHost, guest: QueuedJob) -> list[bool]:
        """Return whether each action can be: it meets the guest's need, and the guard lets it."""
        cores, need = host.job.size, self._need(guest)
        return [action == 0 or self._may(host, action, cores, need) for action in self._grid]

    def _may(self, host: PossibleHost, action: float, cores: int, need: float) -> bool:
        if self._sharing is not None and self._sharing.whole_cores and not whole(action * cores):
            return False
        beside = 1 + host.slowdown if host.slowdown >= MUCH else 1.0
        if host.happiness * slowed(host.cpu, 1 - action) / beside < self._policy.guard:
            return False
        return action * cores >= need - _EPSILON

    def _need(self, guest: QueuedJob) -> float:
        """Return the cores' worth of time that a guest needs."""
        usage, size = guest.usage, guest.request.size
        if usage is None or not self._policy.need_by_use or not 0 <= usage.cpu <= 1:
            return float(size)
        return usage.cpu * size

    def _case(self, host: PossibleHost, guest: QueuedJob) -> tuple[Case, float]:
        """Draw the fraction that the guest gets; 0: none."""
        policy, allowed = self._policy, self._allowed(host, guest)
        state = self._features(host, guest)
        advice: list[Distribution | None] = [expert.advice(state) for expert in self._experts]
        if policy.sleeping:
            advice = [learner.masked(each, allowed) for each in advice if each is not None]
        mixture = learner.mixed(policy.weights(self._risks), advice) or self._no_guest
        index = learner.drawn(mixture, policy.seed, self._counter)
        self._counter += 1
        action = self._grid[index] if allowed[index] else 0.0
        case = Case(
            host.job.id,
            guest.id,
            self._now,
            host.left,
            host.rate,
            _seconds(guest),
            mixture[index],
            learner.rate(len(self._experts), self._risks.round, policy.known_actions),
            tuple(ABSTAINED if each is None else each[index] for each in advice),
        )
        return case, action

    def _idle(self, host: PossibleHost) -> float:
        """Return the loss of leaving cores idle: none where the host uses all but less than a guest gets."""
        return self._policy.idle * min(1.0, (1 - host.cpu) / self._grid[1]) if self._policy.two_sided else 0.0

    def _features(self, host: PossibleHost, guest: QueuedJob) -> dict[str, float]:
        """Return what the experts' trees may ask for."""
        job, usage = host.job, host.job.usage
        limit = job.end - job.started
        found = {"cpu": host.cpu, "happiness": host.happiness, "slowdown": host.slowdown}
        found["guest-slowdown"] = 0.0 if guest.usage is None else guest.usage.slowdown
        found["elapsed"] = (self._now - job.started) / limit if limit < math.inf else 0.0
        if usage is not None:
            found["memory"] = usage.memory
            found |= {"parallel": usage.busy / job.size} if usage.busy else {}
        if guest.usage is not None:
            found |= {"guest-cpu": guest.usage.cpu, "guest-memory": guest.usage.memory}
        return found


def _busy(job: RunningJob) -> float:
    return 1.0 if job.usage is None else job.usage.cpu


def _resizable(job: QueuedJob) -> bool:
    return job.elastic is not None and job.elastic.malleable


def _seconds(guest: QueuedJob) -> float:
    """Return what a guest would take alone: by its estimate, or by its limit, which jobs seldom use up."""
    if guest.estimate is not None:
        return guest.estimate.seconds(guest.request.size)
    return guest.limit / 1.25 if guest.limit < math.inf else 3600.0
