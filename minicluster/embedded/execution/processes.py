"""Child processes of a broker: reaping, process groups, and processes that a job leaves behind.

The broker is a child subreaper (prctl(2)): an orphaned descendant becomes its child, also if it detached
itself. MARKER in its environment, or its session, identifies its job.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

MARKER = "MINICLUSTER_JOB"
"""An environment variable: a path of instance ids and job ids, beginning with the outermost instance."""

_PR_SET_CHILD_SUBREAPER = 36
_ATTEMPTS, _MOMENT = 50, 0.002  # an exec takes less, unless the machine is busy


class Reaper:
    """Reaps every child that ends, and calls its callback with the wait status."""

    def __init__(self) -> None:
        self._waiting: dict[int, Callable[[int], None]] = {}
        self.orphan_ended: Callable[[], None] = lambda: None

    def open(self) -> None:
        """Become the parent of orphaned descendants and listen for SIGCHLD."""
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._collect)

    def watch(self, pid: int, ended: Callable[[int], None]) -> None:
        """Call `ended(status)` when `pid` ended; call this in the same turn of the loop as the start."""
        self._waiting[pid] = ended

    def _collect(self) -> None:
        orphans = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            ended = self._waiting.pop(pid, None)
            if ended is None:
                orphans = True
            else:
                ended(status)
        if orphans:
            self.orphan_ended()

    def orphans(self) -> Iterator[int]:
        """Yield the children that were not started by this process."""
        return (pid for pid in children(os.getpid()) if pid not in self._waiting)


def children(pid: int) -> list[int]:
    """Return the child processes of all threads of `pid`."""
    try:
        texts = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(word) for text in texts for word in text.split()]


def family(pids: Iterable[int]) -> Iterator[int]:
    """Yield these processes and all their descendants, parents first."""
    for pid in pids:
        yield pid
        yield from family(children(pid))


def belongs(pid: int, marker: str, sessions: Iterable[int]) -> bool:
    """Return whether `pid` belongs to the job `marker`, or to an instance in it.

    `sessions` are those that the job's tasks led.
    """
    with contextlib.suppress(OSError):
        if os.getsid(pid) in sessions:
            return True
        wanted = f"{MARKER}={marker}".encode()
        for entry in _environment(pid).split(b"\0"):
            if entry == wanted or entry.startswith(wanted + b"/"):
                return True
    return False


def _environment(pid: int) -> bytes:
    """Return a process's environment; wait for the end of an exec, as during one it is empty."""
    folder = Path(f"/proc/{pid}")
    for _ in range(_ATTEMPTS):
        if text := (folder / "environ").read_bytes():
            return text
        if (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(_MOMENT)
    return b""


def in_session(pid: int, leaders: Collection[int]) -> bool:
    """Return whether `pid` is in the session of one of these processes."""
    with contextlib.suppress(OSError):
        return os.getsid(pid) in leaders
    return False


def signal_group(leader: int, signum: int) -> None:
    """Signal a process group; one that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signum)


def signal_family(pids: Iterable[int], signum: int) -> None:
    """Signal processes and all their descendants."""
    for pid in list(family(pids)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)
