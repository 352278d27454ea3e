"""The processes of a job's tasks, with all their descendants."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from minicluster.embedded.execution.processes import belongs, family, in_session, signal_family, signal_group

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from minicluster.embedded.execution.processes import Reaper
    from minicluster.embedded.execution.rank.task import Task

_AGAIN = 1.0  # seconds until SIGKILL is repeated for what is left


class TaskProcesses:
    """Signals and ends the processes; `grace` is the time from SIGTERM to SIGKILL, in seconds."""

    def __init__(self, tasks: Mapping[int, Task], reaper: Reaper, marker: str, grace: float) -> None:
        self._tasks = tasks
        self._reaper = reaper
        self._marker = marker
        self._grace = grace
        self._loop = asyncio.get_running_loop()
        self._ending: asyncio.TimerHandle | None = None

    def signal(self, signum: int) -> None:
        """Signal the process group of every task that runs."""
        for pid in _running(self._tasks.values()):
            signal_group(pid, signum)

    def kill(self, signum: int) -> None:
        """End the job: `signum` now, SIGKILL to all its processes after the grace period."""
        self.signal(signum)
        if signum == signal.SIGKILL:
            self._kill_all()
        elif self._ending is None:
            self._ending = self._loop.call_later(self._grace, self._kill_all)

    def end(self, ranks: Iterable[int]) -> None:
        """End some tasks: SIGTERM now, SIGKILL to all their processes after the grace period."""
        tasks = [self._tasks[rank] for rank in ranks if rank in self._tasks]
        for pid in _running(tasks):
            signal_group(pid, signal.SIGTERM)
        self._loop.call_later(self._grace, self._kill_tasks, tasks)

    def end_leftovers(self) -> bool:
        """End the processes that ended tasks have left behind; return whether there are any."""
        leftovers = self._leftovers()
        if leftovers and self._ending is None:
            signal_family(leftovers, signal.SIGTERM)
            self._ending = self._loop.call_later(self._grace, self._kill_all)
        return bool(leftovers)

    def present(self) -> list[int]:
        """Return the ids of all processes of the job."""
        return list(dict.fromkeys(family([*_running(self._tasks.values()), *self._leftovers()])))

    def close(self) -> None:
        """Cancel the repeated SIGKILL: no process is left."""
        if self._ending is not None:
            self._ending.cancel()

    def _kill_tasks(self, tasks: Collection[Task]) -> None:
        left = {task.pid for task in tasks if not task.reported}
        signal_family(_running(tasks), signal.SIGKILL)
        signal_family([pid for pid in self._reaper.orphans() if in_session(pid, left)], signal.SIGKILL)

    def _kill_all(self) -> None:
        self._ending = self._loop.call_later(_AGAIN, self._kill_all)
        signal_family(_running(self._tasks.values()), signal.SIGKILL)
        signal_family(self._leftovers(), signal.SIGKILL)

    def _leftovers(self) -> list[int]:
        sessions = {task.pid for task in self._tasks.values()}
        return [pid for pid in self._reaper.orphans() if belongs(pid, self._marker, sessions)]


def _running(tasks: Iterable[Task]) -> list[int]:
    return [task.pid for task in tasks if task.status is None]
