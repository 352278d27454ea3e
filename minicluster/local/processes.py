"""Process groups, parent-death signals, and finding all processes of a cluster (prctl(2), proc(5)).

A cluster's processes have a variable in their environment, and the supervisor is their subreaper. Both
together also find the processes that left their group, or changed their parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MARKER = "MINICLUSTER_DIRECTORY"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def become_subreaper() -> None:
    """Make orphans among this process's descendants its children."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def begins_container(parent: int) -> Callable[[], None]:
    """Return a function that a container's first process runs before its program.

    It gets SIGTERM when this process ends. Orphans below it become its children, as in a container with
    processes of its own: so the fence of a broker finds what jobs have left (minicluster/fence).
    """

    def prepare() -> None:
        _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # execve(2) keeps it
        _prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # the parent ended before the line above took effect
            os._exit(1)

    return prepare


def start_time(pid: int) -> int:
    """Return when the process started, in clock ticks since boot; 0 where there is none (or a zombie)."""
    fields = _stat(pid)
    return int(fields[19]) if fields and fields[0] not in "ZX" else 0


def descendants(pid: int) -> set[int]:
    """Return every living process below `pid`."""
    children: dict[int, list[int]] = {}
    for each in _all():
        fields = _stat(each)
        if fields and fields[0] not in "ZX":
            children.setdefault(int(fields[1]), []).append(each)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        waiting.extend(below)
        found.update(below)
    return found


def marked(directory: Path) -> set[int]:
    """Return every living process whose environment names this cluster's directory."""
    return with_variable(f"{MARKER}={directory}")


def with_variable(assignment: str) -> set[int]:
    """Return every other living process that has `NAME=VALUE` in its environment."""
    needle = b"\0" + os.fsencode(assignment) + b"\0"
    return {pid for pid in _all() if needle in b"\0" + _environment(pid) + b"\0"} - {os.getpid()}


def sweep(find: Callable[[], Iterable[int]], deadline: float = 5.0) -> int:
    """Kill what `find` finds until it finds nothing; return how many were killed.

    New ones may appear between finding and killing, so it searches again. `deadline` is in seconds.
    """
    killed: set[int] = set()
    end = time.monotonic() + deadline
    while (found := set(find())) and time.monotonic() < end:
        for pid in found:
            send(pid, signal.SIGKILL)
        reap()
        killed |= found
        time.sleep(0.005)
    return len(killed)


def reap() -> dict[int, int]:
    """Collect every child that ended: process id and wait status."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def send(pid: int, signum: int) -> None:
    """Send a signal to a process that may be gone."""
    try:
        os.kill(pid, signum)
    except (ProcessLookupError, PermissionError):
        return


def send_group(group: int, signum: int) -> None:
    """Send a signal to a process group that may be gone."""
    try:
        os.killpg(group, signum)
    except (ProcessLookupError, PermissionError):
        return


def _all() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()  # a zombie's is empty
    except OSError:
        return b""
