"""Control groups of version 2: one hierarchy, whose controllers a group passes on to those in it.

A group that passes controllers on must have no processes, unless it is the root of all. So the processes of
the broker's own group move to a group in it where they may: where all of them belong to the broker, as in a
container, or in a unit that systemd has delegated.
"""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.embedded.execution.rank.enforcement.control_groups import (
    LEAST_QUOTA_US,
    PERIOD_US,
    PROCS,
    ControlGroups,
)
from minicluster.embedded.execution.rank.enforcement.hierarchies import VERSION_2
from minicluster.embedded.execution.rank.enforcement.records import Way

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minicluster.embedded.execution.rank.enforcement.control_groups import GroupName
    from minicluster.embedded.execution.rank.enforcement.group_files import GroupFiles
    from minicluster.embedded.execution.rank.enforcement.hierarchies import OwnGroup
    from minicluster.embedded.execution.rank.enforcement.records import CpuLimit

QUOTA = "cpu.max"
"""A kernel without bandwidth control has groups without it."""
LEAF = "minicluster-brokers"
"""The group for the processes that were in a broker's own; brokers that had one group have this together."""
_MAX_MOVES = 5
"""What is started while others move is moved in the next pass."""
_CONTROLLERS, _PASSED_ON = "cgroup.controllers", "cgroup.subtree_control"
_WEIGHT, _MAX_WEIGHT = 100, 10_000
"""The kernel's `cpu.weight` of a group, here of each core that a job has; and the greatest."""


class Version2:
    """See kernel.org, Documentation/admin-guide/cgroup-v2.rst."""

    way = Way.GROUPS_2
    cpu_time = (VERSION_2, "cpu.stat")
    memory = (VERSION_2, "memory.current")

    def writes(self, limit: CpuLimit) -> Sequence[tuple[str, str, str]]:
        """Return quota and weight."""
        quota = "max" if limit.cores is None else str(max(LEAST_QUOTA_US, round(limit.cores * PERIOD_US)))
        cores = limit.size if limit.cores is None else limit.cores
        return (
            (VERSION_2, QUOTA, f"{quota} {PERIOD_US}"),
            (VERSION_2, "cpu.weight", str(min(_MAX_WEIGHT, max(1, round(cores * _WEIGHT))))),
        )

    def seconds(self, text: str) -> float:
        """Read `usage_usec`. Raises ValueError."""
        for line in text.splitlines():
            key, _, value = line.partition(" ")
            if key == "usage_usec":
                return int(value) / 1e6
        raise ValueError("cpu.stat has no usage_usec")


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0 of one that is gone, or whose parent is in another container."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def opened(
    files: GroupFiles,
    own: Mapping[str, OwnGroup],
    name: GroupName,
    me: int,
    parent: Callable[[int], int] = parent_of,
) -> ControlGroups:
    """Make the broker's group below its own; `me` is its process id. Raises OSError."""
    if VERSION_2 not in own:
        raise OSError(errno.ENOENT, "no hierarchy of version 2")
    group = own[VERSION_2].directory
    base = group.parent if group.name == LEAF else group
    if "cpu" not in files.read(base / _CONTROLLERS).split():
        raise OSError(errno.ENOENT, f"{base / _CONTROLLERS} does not have cpu")
    _pass_on(files, base, me, parent)
    made = ControlGroups(files, {VERSION_2: base}, (VERSION_2,), Version2(), name)
    made.check(VERSION_2, QUOTA)
    try:
        made.prepare(_PASSED_ON, "+cpu")
        with contextlib.suppress(OSError):  # then the memory of processes is added up
            made.prepare(_PASSED_ON, "+memory")
    except OSError:
        made.close()
        raise
    return made


def _pass_on(files: GroupFiles, base: Path, me: int, parent: Callable[[int], int]) -> None:
    """Have the groups in `base` get the controllers. Raises OSError."""
    moved: list[int] = []
    for moves_left in reversed(range(_MAX_MOVES)):
        try:
            files.write(base / _PASSED_ON, "+cpu")
            break
        except OSError as error:
            if error.errno != errno.EBUSY or not moves_left:
                raise
            moved += _move_processes(files, base, moved, me, parent)
    with contextlib.suppress(OSError):
        files.write(base / _PASSED_ON, "+memory")


def _move_processes(
    files: GroupFiles, base: Path, moved: Sequence[int], me: int, parent: Callable[[int], int]
) -> list[int]:
    """Move the processes that are there, of which some have been `moved` already; return them."""
    pids = [int(word) for word in files.read(base / PROCS).split()]
    if not kin([*moved, *pids], me, parent):
        raise OSError(errno.EBUSY, "processes of others are in the broker's own group", str(base))
    leaf = base / LEAF
    with contextlib.suppress(FileExistsError):
        files.make(leaf)
    for pid in pids:
        try:
            files.write(leaf / PROCS, str(pid))
        except OSError as error:
            if error.errno != errno.ESRCH:  # it has ended
                raise
    return pids


def kin(pids: Sequence[int], me: int, parent: Callable[[int], int]) -> bool:
    """Return whether all these processes have one ancestor among them with `me`, or are a whole container."""
    among = set(pids)

    def first(pid: int) -> int:
        while (above := parent(pid)) in among:
            pid = above
        return pid

    return 1 in among or {first(pid) for pid in pids} == {first(me)}
