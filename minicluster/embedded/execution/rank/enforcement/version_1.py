"""Control groups of version 1: a hierarchy for each controller, of which `cpu` is needed."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from minicluster.embedded.execution.rank.enforcement.control_groups import (
    LEAST_QUOTA_US,
    PERIOD_US,
    ControlGroups,
)
from minicluster.embedded.execution.rank.enforcement.records import Way

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minicluster.embedded.execution.rank.enforcement.control_groups import GroupName
    from minicluster.embedded.execution.rank.enforcement.group_files import GroupFiles
    from minicluster.embedded.execution.rank.enforcement.hierarchies import OwnGroup
    from minicluster.embedded.execution.rank.enforcement.records import CpuLimit

CPU, ACCOUNTING, MEMORY = "cpu", "cpuacct", "memory"
QUOTA = "cpu.cfs_quota_us"
"""A kernel without bandwidth control has groups without it."""
_CORE_WEIGHT = 1024
"""The kernel's `cpu.shares` of a group, here of each core that a job has."""


class Version1:
    """See kernel.org, Documentation/scheduler/sched-bwc.rst and admin-guide/cgroup-v1/cpuacct.rst."""

    way = Way.GROUPS_1
    cpu_time = (ACCOUNTING, "cpuacct.usage")
    memory = (MEMORY, "memory.usage_in_bytes")

    def writes(self, limit: CpuLimit) -> Sequence[tuple[str, str, str]]:
        """Return quota and shares."""
        quota = -1 if limit.cores is None else max(LEAST_QUOTA_US, round(limit.cores * PERIOD_US))
        cores = limit.size if limit.cores is None else limit.cores
        return (
            (CPU, "cpu.cfs_period_us", str(PERIOD_US)),
            (CPU, QUOTA, str(quota)),
            (CPU, "cpu.shares", str(max(2, round(cores * _CORE_WEIGHT)))),
        )

    def seconds(self, text: str) -> float:
        """Read nanoseconds."""
        return int(text) / 1e9


def opened(files: GroupFiles, own: Mapping[str, OwnGroup], group_name: GroupName) -> ControlGroups:
    """Make the broker's groups below its own. Raises OSError."""
    if CPU not in own:
        raise OSError(errno.ENOENT, "no hierarchy of version 1 with the controller cpu")
    bases = {name: own[name].directory for name in (CPU, ACCOUNTING, MEMORY) if name in own}
    made = ControlGroups(files, bases, (CPU,), Version1(), group_name)
    made.check(CPU, QUOTA)
    return made
