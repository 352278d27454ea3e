"""Everything that a broker started: found by parents, sessions, process groups and environments; and its end.

What a job starts may leave its session, its environment, and its parent. Where orphans become children of
the start script, as in a container, they are found there. Elsewhere they are known if they were seen below
the broker before: that is remembered. At the end all is stopped before the first is killed: what is stopped
starts nothing.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SWEEP_INTERVAL = 0.02
WARN_AFTER = 5.0
"""Seconds after which it is reported that processes do not end: the kernel may not let go of them."""


class ProcessStat(NamedTuple):
    """A process as proc(5) has it."""

    state: str
    parent: int
    group: int
    session: int
    started: int
    """In clock ticks since boot: it distinguishes processes with the same id."""

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended: a zombie has."""
        return self.state not in "ZX"


def stat_of(pid: int) -> ProcessStat | None:
    """Return what is known of a process, or None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return ProcessStat(fields[0], int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def all_processes() -> dict[int, ProcessStat]:
    """Return every process that lives."""
    found = {}
    for entry in os.scandir("/proc"):
        stat = stat_of(int(entry.name)) if entry.name.isdigit() else None
        if stat is not None and stat.is_alive:
            found[int(entry.name)] = stat
    return found


def children(pid: int) -> set[int]:
    """Return the child processes of all threads of a process."""
    found = set()
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found |= set(map(int, file.read_text().split()))
        except OSError:
            continue  # the thread has ended
    return found


def closure(members: Iterable[int], processes: dict[int, ProcessStat], apart: ProcessStat) -> set[int]:
    """Return these processes, and all that belong to one of them: by parent, session or process group.

    The session and the group of `apart` are not theirs, although a broker is in them as well.
    """
    found = set(members) & set(processes)
    while True:
        stats = [processes[pid] for pid in found]
        sessions = {each.session for each in stats} - {apart.session, 0}
        groups = {each.group for each in stats} - {apart.group, 0}
        more = {
            pid
            for pid, each in processes.items()
            if each.parent in found or each.session in sessions or each.group in groups
        }
        if more <= found:
            return found
        found |= more


def parent_of_orphans() -> int:
    """Return who gets orphans below this process: an ancestor that takes them (prctl(2)), else the first.

    An orphan is made for it. This process must have one thread only.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _make_orphan(writer)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return int(file.read() or 0)


def _make_orphan(writer: int) -> NoReturn:
    try:
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:
                time.sleep(0.001)
            os.write(writer, str(os.getppid()).encode())
    finally:
        os._exit(0)


def adopted_before(script: int) -> dict[int, int] | None:
    """Return the children that a start script has before its broker, with when they started.

    None: orphans do not become its children.
    """
    if parent_of_orphans() != script:
        return None
    stats = {pid: stat_of(pid) for pid in children(script)}
    return {pid: stat.started for pid, stat in stats.items() if stat is not None}


class BrokerProcesses:
    """A broker, and what it started.

    `script` is the process that started it, with what `adopted_before` gave for it before there was a broker.
    `uri` is the broker's socket, which tasks have in FLUX_URI.
    """

    def __init__(
        self, script: int, uri: str, report: Callable[[str], None], before: Mapping[int, int] | None
    ) -> None:
        self._variable = b"FLUX_URI=" + os.fsencode(uri)
        self._report = report
        self._script = script
        own = stat_of(os.getpid())
        assert own is not None  # noqa: S101 - this process lives
        self._own = own
        self._spared = {os.getpid(), script, 1, *_ancestors(os.getpid())}
        self._before = before
        self._seen: dict[int, int] = {}
        self._broker = 0
        self._started = 0

    def begin(self, broker: int) -> None:
        """Watch this broker."""
        stat = stat_of(broker)
        self._broker = broker
        self._started = stat.started if stat is not None and stat.is_alive else 0
        self._spared.discard(broker)

    @property
    def broker_lives(self) -> bool:
        """Whether the broker runs."""
        stat = stat_of(self._broker)
        return stat is not None and stat.is_alive and stat.started == self._started

    @property
    def broker_age(self) -> float:
        """How many seconds ago the broker was started, or 0 where it has ended."""
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return max(0.0, uptime - self._started / os.sysconf("SC_CLK_TCK")) if self._started else 0.0

    def remember(self) -> bool:
        """Remember what is below the broker now, and what has left it; return whether anything is."""
        found = self._orphans()
        waiting = [self._broker, *found]
        while waiting:
            below = children(waiting.pop()) - found
            waiting.extend(below)
            found |= below
        for pid in found - set(self._seen):
            stat = stat_of(pid)
            if stat is not None:
                self._seen[pid] = stat.started
        return bool(found)

    def kill(self) -> int:
        """Kill the broker and everything that it started, and return how many were killed once all are gone.

        What may not be killed, as it belongs to another user, is reported and left.
        """
        killed: set[int] = set()
        denied: set[int] = set()
        warn_at = time.monotonic() + WARN_AFTER
        while True:
            found = self._stopped(denied)
            if not found:
                return len(killed)
            for pid in found:
                _signal(pid, signal.SIGKILL)
            killed |= found
            if time.monotonic() >= warn_at:
                warn_at = float("inf")
                self._report(f"processes do not end: {' '.join(map(str, sorted(found)))}")
            time.sleep(SWEEP_INTERVAL)

    def _stopped(self, denied: set[int]) -> set[int]:
        """Stop everything that is there, until nothing new is found; return it."""
        stopped: set[int] = set()
        while True:
            found = self._found() - denied
            for pid in found - stopped:
                if not _signal(pid, signal.SIGSTOP):
                    denied.add(pid)
                    self._report(f"process {pid} may not be killed: it belongs to another user")
            if found <= stopped | denied:
                return found - denied
            stopped |= found

    def _found(self) -> set[int]:
        """Return what lives of the broker and of all that it started."""
        processes = all_processes()
        members = {pid for pid, started in self._seen.items() if _is_same(processes, pid, started)}
        members |= {pid for pid in processes if self._variable in _environment(pid).split(b"\0")}
        if _is_same(processes, self._broker, self._started):
            members.add(self._broker)
        members |= self._orphans()
        return closure(members - self._spared, processes, self._own) - self._spared

    def _orphans(self) -> set[int]:
        """Return what the start script has got of the broker's since it was started."""
        if self._before is None:
            return set()
        stats = {pid: stat_of(pid) for pid in children(self._script) - self._spared - {self._broker}}
        return {
            pid
            for pid, stat in stats.items()
            if stat is not None and stat.is_alive and self._before.get(pid) != stat.started
        }


def _ancestors(pid: int) -> set[int]:
    found: set[int] = set()
    stat = stat_of(pid)
    while stat is not None and stat.parent > 0:
        found.add(stat.parent)
        stat = stat_of(stat.parent)
    return found


def _is_same(processes: dict[int, ProcessStat], pid: int, started: int) -> bool:
    return pid in processes and processes[pid].started == started


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""  # it has ended, or is another user's


def _signal(pid: int, signum: int) -> bool:
    """Send a signal; return whether it may be sent. A process that is gone takes any."""
    try:
        os.kill(pid, signum)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True
