"""Two jobs on each job's cores, and each may use half of their time, with a guest or without.

Source: the baseline "static" of Souza, Pelckmans and Tordsson, "A HPC Co-Scheduler with Reinforcement
Learning", 2021: what co-scheduling gains without any knowledge, and what it costs. EASY otherwise.

No bound on starvation: a guest that outlives its host keeps some of its cores, and so may the next one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.core_sharing import agreed, whole
from queue_policies.cosched.shared_queue import with_guests
from queue_policies.easy import Easy, easy_pass
from queue_policies.errors import PolicySettings
from queue_policies.records import Action, CpuQuota, Reserve, Start, State, WakeAt
from queue_policies.settings import setting
from queue_policies.walk import malleable, start_actions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queue_policies.easy import Schedule
    from queue_policies.records import RunningJob

_NEXT_START = 1.0  # seconds after which jobs that have just started may have guests


@dataclass(frozen=True, slots=True)
class Static:
    """EASY, with two jobs on each job's cores, each held to half of their time."""

    name: ClassVar[str] = "static"
    needs_sharing: ClassVar[bool] = True
    quota: float = setting(0.5, "fraction of its cores' time that each job may use, up to a half", least=0.01)

    def __post_init__(self) -> None:
        """Check that two jobs can have this quota. Raises PolicySettings."""
        if not self.quota <= 0.5:
            wrong = f"queue policy static: setting quota is {self.quota:g}; it must be 0.5 or less"
            raise PolicySettings(f"{wrong}, as two jobs have it of the same cores")

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start as EASY does, then guests, the first of the queue first."""
        if state.sharing is None:
            return Easy().decide(state, now)
        view = state._replace(running=with_guests(state.running))
        schedule = easy_pass(view, now, extra=True)
        actions = start_actions(schedule.starts)
        if schedule.head is not None and math.isfinite(schedule.shadow):
            actions.append(Reserve(schedule.head.id, schedule.shadow))
        quotas = (
            CpuQuota(job.id, self.quota)
            for job, _ in schedule.starts
            if self._can_be(job.request.size, state)
        )
        return [*actions, *quotas, *self._again(state), *self._guests(state, schedule, now)]

    def _again(self, state: State) -> Iterator[Action]:
        """Yield the quotas of jobs whose neighbour has ended."""
        for job in state.running.by_order():
            if job.quota > self.quota and not (job.stopping or job.waits) and self._can_be(job.size, state):
                yield CpuQuota(job.id, self.quota)

    def _guests(self, state: State, schedule: Schedule, now: float) -> Iterator[Action]:
        starting = {job.id for job, _ in schedule.starts}
        waiting = [job for job in state.queue if job.id not in starting]
        hosts = [job for job in state.running.by_order() if self._may_host(job, state)]
        for host in hosts if waiting else ():
            fitting = (job for job in waiting if job.request.size <= host.size and agreed(host, job))
            guest = next(fitting, None)
            if guest is not None:
                waiting.remove(guest)
                yield Start(guest.id, on=host.id, fraction=self.quota)
        if waiting and schedule.starts:
            yield WakeAt(now + _NEXT_START)

    def _may_host(self, job: RunningJob, state: State) -> bool:
        if job.stopping or job.waits or job.guests or job.host is not None or malleable(job):
            return False
        return self._can_be(job.size, state)

    def _can_be(self, size: int, state: State) -> bool:
        """Return whether this quota can be enforced on so many cores."""
        return state.sharing is None or not state.sharing.whole_cores or whole(self.quota * size)
