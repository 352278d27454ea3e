"""The CPU limit of a job on this rank, and what it uses, which the lead gets once a second."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from minicluster.embedded.execution.messages import TasksLimited, TasksUsage
from minicluster.embedded.execution.rank.enforcement.records import CpuLimit, EnforcementLost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.embedded.execution.messages import LimitTasks, RankLimit, SendToLead
    from minicluster.embedded.execution.rank.enforcement.enforcer import EnforcedJob, Enforcer
    from minicluster.embedded.execution.rank.task_processes import TaskProcesses
    from minicluster.embedded.execution.rank_launch import RankLaunch

SAMPLE_SECONDS = 1.0
NOTHING = "none"
"""The word for a rank where nothing enforces limits any more."""


class TaskLimits:
    """Limits the job's processes where its launch has a limit; else it costs nothing."""

    def __init__(
        self,
        rank_launch: RankLaunch,
        processes: TaskProcesses,
        enforcer: Callable[[], Enforcer] | None,
        send: SendToLead,
    ) -> None:
        self._rank_launch = rank_launch
        self._processes = processes
        self._enforcer = enforcer
        self._send = send
        self._enforced: EnforcedJob | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._sampled = 0.0  # when, by the loop's clock, which never jumps
        self._cpu = 0.0

    @property
    def enter(self) -> Callable[[], None] | None:
        """What a task's process has to call before its program begins."""
        return None if self._enforced is None else self._enforced.enter

    def begin(self) -> None:
        """Prepare for the job's first task."""
        limit = self._rank_launch.limit
        if limit is None:
            return
        self._enforced = self._begun()
        self._set(limit)
        self._sampled = self._loop.time()
        self._timer = self._loop.call_later(SAMPLE_SECONDS, self._sample)

    def _begun(self) -> EnforcedJob | None:
        """Prepare the enforcement of the job; None where nothing enforces limits here."""
        from minicluster.embedded.execution.rank.enforcement.enforcer import EnforcedJob  # noqa: PLC0415 - seldom

        if self._enforcer is None:
            return None
        try:
            return EnforcedJob(self._enforcer(), self._rank_launch.id, self._processes.present)
        except EnforcementLost:
            return None

    def adopt(self, pid: int) -> None:
        """Make sure that a task that was started is limited."""
        if self._enforced is not None:
            self._attempt(lambda enforced: enforced.adopt(pid))

    def change(self, message: LimitTasks) -> None:
        """Set another limit."""
        self._set(message["limit"])

    def _set(self, limit: RankLimit) -> None:
        cpus = frozenset(cpus_of(limit["ids"], sorted(os.sched_getaffinity(0))))
        self._attempt(lambda enforced: enforced.set_limit(CpuLimit(limit["cores"], limit["size"], cpus)))
        self._report(limit["order"], NOTHING if self._enforced is None else self._enforced.way.value)

    def _attempt(self, act: Callable[[EnforcedJob], None]) -> None:
        """Do something to the enforcement; where no way is left, the job goes on without one."""
        try:
            if self._enforced is not None:
                act(self._enforced)
        except EnforcementLost:
            self._enforced = None

    def _report(self, order: int, way: str) -> None:
        self._send(TasksLimited(type="exec-limited", job=self._rank_launch.id, order=order, way=way))

    def _sample(self) -> None:
        if self._enforced is None:
            return
        self._timer = self._loop.call_later(SAMPLE_SECONDS, self._sample)
        self._enforced.refresh()
        used, now = self._enforced.consumption(), self._loop.time()
        message = TasksUsage(
            type="exec-usage",
            job=self._rank_launch.id,
            seconds=now - self._sampled,
            cpu=used.cpu_seconds - self._cpu,
            memory=used.memory_bytes / memory_bytes(),
        )
        self._sampled, self._cpu = now, used.cpu_seconds
        self._send(message)

    def close(self) -> None:
        """Remove what was made for the job, which has no processes any more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._enforced is not None:
            self._enforced.close()


def memory_bytes() -> int:
    """Return how much memory this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def cpus_of(ids: Iterable[int], cpus: list[int]) -> set[int]:
    """Return the CPUs for ids of cores: core k is the k-th CPU that the broker may use.

    Where a broker has more cores than CPUs, as several on a laptop do, they begin anew.
    """
    return {cpus[each % len(cpus)] for each in ids}
