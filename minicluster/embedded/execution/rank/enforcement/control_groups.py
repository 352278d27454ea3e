"""Control groups of either version: a group for the broker, and in it one for each job.

No group is the broker's own. Their names have the broker's directory and rank as a digest. So what a killed
broker left is found, and removed, where it starts again; whatever ends its tasks removes it sooner.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple, Protocol

from minicluster.embedded.execution.rank.enforcement.group_files import remove_tree
from minicluster.embedded.execution.rank.enforcement.proc_consumption import ProcConsumption
from minicluster.embedded.execution.rank.enforcement.records import Consumption, EnforcementLost

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from minicluster.embedded.execution.rank.enforcement.group_files import GroupFiles
    from minicluster.embedded.execution.rank.enforcement.records import CpuLimit, Processes, Way

PROCS = "cgroup.procs"
PERIOD_US = 100_000
"""The kernel's own: a job under a quota waits for the rest of a period once it has used its part."""
LEAST_QUOTA_US = 1_000
"""The kernel refuses less."""


class GroupName(NamedTuple):
    """The name of a broker's group."""

    prefix: str
    unique: str
    """Of this run of the broker."""

    def __str__(self) -> str:
        return f"{self.prefix}{self.unique}"


def group_name(directory: str, rank: int, unique: str) -> GroupName:
    """Return the name for a broker by its run directory and rank; `unique` is of this run."""
    digest = hashlib.sha256(f"{os.getuid()}:{directory}:{rank}".encode()).hexdigest()[:12]
    return GroupName(f"minicluster.{digest}.", unique)


class CgroupVersion(Protocol):
    """The files of one version. A hierarchy is named by its controller; version 2 has one hierarchy."""

    @property
    def way(self) -> Way:
        """Which way it is."""

    @property
    def cpu_time(self) -> tuple[str, str]:
        """The hierarchy and file of the CPU time."""

    @property
    def memory(self) -> tuple[str, str]:
        """The hierarchy and file of the memory in use."""

    def writes(self, limit: CpuLimit) -> Sequence[tuple[str, str, str]]:
        """Return what a limit writes: hierarchy, file, text."""

    def seconds(self, text: str) -> float:
        """Read the file of the CPU time. Raises ValueError."""


class JobGroup:
    """The groups of one job, one in each hierarchy."""

    def __init__(
        self, files: GroupFiles, groups: Mapping[str, Path], version: CgroupVersion, processes: Processes
    ) -> None:
        self._files = files
        self._groups = groups
        self._version = version
        self._by_proc = ProcConsumption(processes)
        self._seconds = 0.0
        self._procs = [files.open(group / PROCS) for group in set(groups.values())]

    def enter(self) -> None:
        """Move this process there: it runs between fork and exec."""
        for descriptor in self._procs:
            with contextlib.suppress(OSError):  # `adopt` finds it
                os.write(descriptor, b"0")

    def adopt(self, pid: int) -> None:
        """Move a task there, where it is not there. Raises EnforcementLost."""
        try:
            for group in set(self._groups.values()):
                self._files.write(group / PROCS, str(pid))
        except OSError as error:
            if error.errno != errno.ESRCH:  # it has ended
                raise _lost(error) from error

    def set_limit(self, limit: CpuLimit) -> None:
        """Set quota and weight. Raises EnforcementLost."""
        try:
            for hierarchy, name, text in self._version.writes(limit):
                self._files.write(self._groups[hierarchy] / name, text)
        except OSError as error:
            raise _lost(error) from error

    def refresh(self) -> None:
        """Nothing gets out of a group."""

    def consumption(self) -> Consumption:
        """Return what the group has used; what it does not count, by its processes."""
        seconds, memory = self._counted(*self._version.cpu_time), self._counted(*self._version.memory)
        by_proc = Consumption(0.0, 0) if seconds is not None and memory is not None else self._by_proc.now()
        self._seconds = max(self._seconds, by_proc.cpu_seconds if seconds is None else seconds)
        return Consumption(self._seconds, by_proc.memory_bytes if memory is None else int(memory))

    def _counted(self, hierarchy: str, name: str) -> float | None:
        group = self._groups.get(hierarchy)
        if group is None:
            return None
        try:
            text = self._files.read(group / name)
            return self._version.seconds(text) if (hierarchy, name) == self._version.cpu_time else int(text)
        except (OSError, ValueError):
            return None

    def close(self) -> bool:
        """Remove the groups; return False where one has processes yet."""
        while self._procs:
            os.close(self._procs.pop())
        return _removed(self._files, self._groups.values())


class ControlGroups:
    """The broker's groups in the hierarchies `bases`, those of `needed` first; it makes them, and sweeps.

    Raises OSError where they cannot be made.
    """

    def __init__(
        self,
        files: GroupFiles,
        bases: Mapping[str, Path],
        needed: Iterable[str],
        version: CgroupVersion,
        name: GroupName,
    ) -> None:
        self._files = files
        self._version = version
        self._groups: dict[str, Path] = {}
        for hierarchy in needed:
            self._groups[hierarchy] = self._made(bases[hierarchy], name)
        for hierarchy, base in bases.items():
            if base / str(name) in self._groups.values():  # controllers may have one hierarchy together
                self._groups[hierarchy] = base / str(name)
            else:
                with contextlib.suppress(OSError):  # then the processes are counted one by one
                    self._groups[hierarchy] = self._made(base, name)

    @property
    def way(self) -> Way:
        """Which version it is."""
        return self._version.way

    @property
    def directories(self) -> tuple[str, ...]:
        """The broker's groups."""
        return tuple(map(str, dict.fromkeys(self._groups.values())))

    def _made(self, base: Path, name: GroupName) -> Path:
        sweep(self._files, base, name)
        group = base / str(name)
        self._files.make(group)
        return group

    def prepare(self, file: str, text: str) -> None:
        """Write a value into the broker's groups, such as what those in them get. Raises OSError."""
        for group in set(self._groups.values()):
            self._files.write(group / file, text)

    def check(self, hierarchy: str, file: str) -> None:
        """Make sure that groups have a file. Raises OSError where they lack it; nothing is left then."""
        try:
            self._files.read(self._groups[hierarchy] / file)
        except OSError:
            self.close()
            raise

    def begin(self, job: int, processes: Processes) -> JobGroup:
        """Make the groups of a job. Raises EnforcementLost, and leaves nothing then."""
        made: list[Path] = []
        try:
            for group in dict.fromkeys(self._groups.values()):
                self._files.make(group / str(job))
                made.append(group / str(job))
            groups = {hierarchy: group / str(job) for hierarchy, group in self._groups.items()}
            return JobGroup(self._files, groups, self._version, processes)
        except OSError as error:
            for group in made:
                with contextlib.suppress(OSError):
                    self._files.remove(group)
            raise _lost(error) from error

    def close(self) -> bool:
        """Remove the broker's groups; return False where one has processes yet."""
        return _removed(self._files, self._groups.values())


def sweep(files: GroupFiles, base: Path, name: GroupName) -> None:
    """Remove what earlier runs of this broker have left, unless processes are in it yet."""
    for group in files.groups(base):
        if group.name.startswith(name.prefix) and group.name != str(name):
            with contextlib.suppress(OSError):
                remove_tree(files, group)


def _removed(files: GroupFiles, groups: Iterable[Path]) -> bool:
    """Remove groups; return whether all of them are gone."""
    gone = True
    for group in set(groups):
        try:
            remove_tree(files, group)
        except OSError:
            gone = False
    return gone


def _lost(error: OSError) -> EnforcementLost:
    file = f"{error.filename}: " if error.filename else ""
    return EnforcementLost(error.errno, f"{file}{error.strerror}")
