"""CPU limits of jobs on their ranks, and what the ranks report that jobs use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minicluster.embedded.execution.messages import LimitTasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.execution.lead.run import Run
    from minicluster.embedded.execution.messages import RankLimit, TasksLimited, TasksUsage
    from minicluster.embedded.overlay.overlay import LeadOverlay


class RankCpuLimits:
    """Sends limits to ranks, and passes on that they hold, and what is used."""

    def __init__(self, overlay: LeadOverlay) -> None:
        self._overlay = overlay

    def send(self, run: Run, limits: Mapping[int, RankLimit]) -> None:
        """Send each rank its limit; one that is done with the job needs none."""
        for rank, limit in limits.items():
            if rank in run.running:
                self._overlay.send(rank, LimitTasks(type="exec-limit", job=run.id, limit=limit))

    def limited(self, run: Run, rank: int, message: TasksLimited, _body: bytes) -> None:
        """A limit holds on a rank; it is reported once it does on all of the job's."""
        ways = run.limited.setdefault(message["order"], {})
        ways[rank] = message["way"]
        if run.running <= ways.keys():
            del run.limited[message["order"]]
            run.events.limited(run.id, message["order"], sorted(set(ways.values())))

    def used(self, run: Run, rank: int, message: TasksUsage, _body: bytes) -> None:
        """A rank reports what a job used; what cannot be is passed over."""
        seconds, cpu, memory = (message[name] for name in ("seconds", "cpu", "memory"))
        if all(map(math.isfinite, (seconds, cpu, memory))) and seconds > 0 and cpu >= 0 and memory >= 0:
            run.events.used(run.id, rank, seconds, cpu, memory)
