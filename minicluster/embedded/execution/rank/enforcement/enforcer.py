"""Finds the ways that hold on this machine, and uses the first one; where it ceases to, the next."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.embedded.execution.rank.enforcement import version_1, version_2
from minicluster.embedded.execution.rank.enforcement.affinity import AffinityEnforcement
from minicluster.embedded.execution.rank.enforcement.group_files import GroupFiles
from minicluster.embedded.execution.rank.enforcement.hierarchies import own_groups
from minicluster.embedded.execution.rank.enforcement.records import (
    Consumption,
    CpuLimit,
    EnforcementLost,
    Way,
)
from minicluster.embedded.log import WARNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.embedded.execution.rank.enforcement.control_groups import GroupName
    from minicluster.embedded.execution.rank.enforcement.records import (
        Enforcement,
        JobEnforcement,
        Processes,
    )

Opener = Callable[[], "Enforcement"]


class EnforcedJob:
    """A job on this rank that is kept within its limits, by whatever way holds."""

    def __init__(self, enforcer: Enforcer, job: int, processes: Processes) -> None:
        self._enforcer = enforcer
        self._job = job
        self._processes = processes
        self._limit = CpuLimit()
        self._before = 0.0  # CPU seconds that an earlier way has counted
        self.way, self._by = enforcer.begin(job, processes)

    def enter(self) -> None:
        """Put this process under it: called in a task's process before its program begins."""
        self._by.enter()

    def adopt(self, pid: int) -> None:
        """Make sure that a task's process is under it."""
        self._try(lambda by: by.adopt(pid))

    def set_limit(self, limit: CpuLimit) -> None:
        """Limit the job from now on."""
        self._limit = limit
        self._try(lambda by: by.set_limit(limit))

    def _try(self, act: Callable[[JobEnforcement], None]) -> None:
        while True:
            try:
                act(self._by)
            except EnforcementLost as lost:
                self._next(lost)
            else:
                return

    def _next(self, lost: EnforcementLost) -> None:
        """Go on by the next way, with the same limit. Raises EnforcementLost where there is none."""
        self._before += self._by.consumption().cpu_seconds
        self._by.close()
        self._enforcer.lose(self.way, lost)
        self.way, self._by = self._enforcer.begin(self._job, self._processes)
        for pid in self._processes():
            self._by.adopt(pid)
        self._by.set_limit(self._limit)

    def refresh(self) -> None:
        """Repeat what processes can undo."""
        self._by.refresh()

    def consumption(self) -> Consumption:
        """Return what the job has used."""
        now = self._by.consumption()
        return Consumption(self._before + now.cpu_seconds, now.memory_bytes)

    def close(self) -> None:
        """Remove what was made for the job."""
        if not self._by.close():
            self._enforcer.close_later(self._by)


class Enforcer:
    """The ways that hold here, best first."""

    def __init__(
        self,
        openers: Iterable[tuple[Way, Opener]],
        log: Callable[[int, str], None] = lambda _level, _text: None,
    ) -> None:
        self.reasons: dict[Way, str] = {}
        """Why ways do not hold."""
        self._log = log
        self._left = list(openers)
        self._now: Enforcement | None = None
        self._unclosed: list[JobEnforcement] = []
        self._open()

    @property
    def way(self) -> Way | None:
        """The way that is taken; None: none holds."""
        return None if self._now is None else self._now.way

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories that whatever ends the tasks of a killed broker removes."""
        return () if self._now is None else self._now.directories

    def _open(self) -> None:
        self._now = None
        while self._left and self._now is None:
            way, opener = self._left.pop(0)
            try:
                self._now = opener()
            except OSError as error:
                file = f"{error.filename}: " if error.filename else ""
                self.reasons[way] = f"{file}{error.strerror}"

    def begin(self, job: int, processes: Processes) -> tuple[Way, JobEnforcement]:
        """Prepare for a job. Raises EnforcementLost where no way is left."""
        self.close_left()
        while self._now is not None:
            try:
                return self._now.way, self._now.begin(job, processes)
            except EnforcementLost as lost:
                self.lose(self._now.way, lost)
        raise EnforcementLost(errno.ENOTSUP, "no way to enforce CPU quotas is left")

    def lose(self, way: Way, lost: EnforcementLost) -> None:
        """Go on by the next way, where this one is still taken, and report it once."""
        if self._now is None or self._now.way is not way:
            return
        self.reasons[way] = str(lost.strerror)
        before = self._now
        self._open()
        self._log(
            WARNING,
            f"CPU quotas cannot be enforced by {way.value} any more: {lost.strerror};"
            f" {'nothing enforces them' if self.way is None else f'from now on by {self.way.value}'}",
        )
        before.close()

    def close_later(self, job: JobEnforcement) -> None:
        """Try again to remove what was made for a job that has ended."""
        self._unclosed.append(job)

    def close_left(self) -> None:
        """Remove what could not be removed before."""
        self._unclosed = [job for job in self._unclosed if not job.close()]

    def close(self) -> bool:
        """Remove everything that was made; return False where that has to be tried again."""
        self.close_left()
        return self._now is None or self._now.close()


def enforcer(
    name: GroupName,
    chosen: str = "",
    log: Callable[[int, str], None] = lambda _level, _text: None,
    files: GroupFiles | None = None,
    texts: tuple[str, str] | None = None,
) -> Enforcer:
    """Return what holds here. With `chosen` that way alone, or with `none` no way.

    `texts` are those of /proc/self/mountinfo and /proc/self/cgroup. They and `files` are arguments for tests.
    """
    if texts is None:
        texts = ("", "")
        with contextlib.suppress(OSError):
            texts = Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text()
    files, own = files or GroupFiles(), own_groups(*texts)
    openers: Mapping[Way, Opener] = {
        Way.GROUPS_2: partial(version_2.opened, files, own, name, os.getpid()),
        Way.GROUPS_1: partial(version_1.opened, files, own, name),
        Way.AFFINITY: _affinity,
    }
    return Enforcer([each for each in openers.items() if chosen in ("", each[0].value)], log)


def _affinity() -> AffinityEnforcement:
    cpus = len(os.sched_getaffinity(0))
    if cpus < 2:
        raise OSError(errno.ENODEV, "the broker may use 1 CPU, and it takes 2")
    return AffinityEnforcement()
