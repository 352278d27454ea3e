"""Whole cores: the threads of a job are bound to some of the broker's CPUs. It needs no privilege."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.embedded.execution.rank.enforcement.proc_consumption import ProcConsumption
from minicluster.embedded.execution.rank.enforcement.records import Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.embedded.execution.rank.enforcement.records import Consumption, CpuLimit, Processes

_MAX_PASSES = 20
"""A thread that forks while others are bound is found in the next pass: children have their parent's CPUs."""


class BoundJob:
    """One job. Its threads are bound while it is limited, and get back the CPUs that they had before."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._used = ProcConsumption(processes)
        self._cpus: frozenset[int] = frozenset()
        self._before: dict[int, set[int]] = {}
        """The CPUs of each thread before the job was limited."""

    def enter(self) -> None:
        """Bind this process: what it starts has the same CPUs."""
        if self._cpus:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, self._cpus)

    def adopt(self, pid: int) -> None:
        """Nothing is left to do."""

    def set_limit(self, limit: CpuLimit) -> None:
        """Bind every thread of the job to the CPUs of the limit, or free them."""
        if limit.cores is not None and limit.cpus:
            self._cpus = limit.cpus
            self._bind()
        elif self._cpus:
            self._cpus = frozenset()
            self._free(limit.cpus)

    def refresh(self) -> None:
        """Bind again what has freed itself."""
        if self._cpus:
            self._bind()

    def _bind(self) -> None:
        for _ in range(_MAX_PASSES):
            if not any(self._bound(thread) for thread in self._threads()):
                break

    def _bound(self, thread: int) -> bool:
        """Bind a thread that runs elsewhere; return whether it did."""
        try:
            now = os.sched_getaffinity(thread)
            if now == self._cpus:
                return False
            self._before.setdefault(thread, now)
            os.sched_setaffinity(thread, self._cpus)
        except OSError:  # it has ended
            return False
        return True

    def _free(self, cpus: frozenset[int]) -> None:
        """Give the threads back what they had; those that began meanwhile get all of the job's CPUs."""
        before, self._before = self._before, {}
        for thread in self._threads():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, before.get(thread) or cpus or os.sched_getaffinity(0))

    def _threads(self) -> Iterator[int]:
        for pid in self._processes():
            with contextlib.suppress(OSError):
                yield from [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]

    def consumption(self) -> Consumption:
        """Return what the processes have used."""
        return self._used.now()

    def close(self) -> bool:
        """Nothing is left."""
        return True


class AffinityEnforcement:
    """Binds jobs to CPUs."""

    way = Way.AFFINITY
    directories: tuple[str, ...] = ()

    def begin(self, _job: int, processes: Processes) -> BoundJob:
        """Return the enforcement of a job."""
        return BoundJob(processes)

    def close(self) -> bool:
        """Nothing was made."""
        return True
