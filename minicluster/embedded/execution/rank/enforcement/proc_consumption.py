"""What processes have used, by /proc: where no control group counts it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicluster.embedded.execution.rank.enforcement.records import Consumption

if TYPE_CHECKING:
    from minicluster.embedded.execution.rank.enforcement.records import Processes

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcStat(NamedTuple):
    """What /proc/PID/stat has of a process."""

    parent: int
    ticks: int
    """CPU time, with that of its children that ended and that it has waited for."""
    started: int
    """With its id this names a process for ever: ids come again."""
    pages: int


def parsed(text: str) -> ProcStat:
    """Read /proc/PID/stat (proc_pid_stat(5)). Raises ValueError or IndexError."""
    fields = text.rpartition(")")[2].split()
    return ProcStat(int(fields[1]), sum(map(int, fields[11:15])), int(fields[19]), int(fields[21]))


class ProcConsumption:
    """Follows a job's processes. Each call of `now` has to be soon after the one before.

    A process that begins and ends in between counts only where its parent waits for it.
    """

    def __init__(self, processes: Processes, proc: Path = Path("/proc")) -> None:
        self._processes = processes
        self._proc = proc
        self._last: dict[tuple[int, int], ProcStat] = {}
        self._ended_ticks = 0
        self._ticks = 0

    def now(self) -> Consumption:
        """Return what the processes have used: the CPU time never falls."""
        present: dict[tuple[int, int], ProcStat] = {}
        for pid in self._processes():
            with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended
                stat = parsed((self._proc / str(pid) / "stat").read_text())
                present[pid, stat.started] = stat
        pids = {pid for pid, _ in present}
        for key, stat in self._last.items():
            if key not in present and stat.parent not in pids:
                self._ended_ticks += stat.ticks  # else its parent's time has it
        self._last = present
        self._ticks = max(self._ticks, self._ended_ticks + sum(each.ticks for each in present.values()))
        return Consumption(self._ticks / _TICKS, _PAGE_BYTES * sum(each.pages for each in present.values()))
