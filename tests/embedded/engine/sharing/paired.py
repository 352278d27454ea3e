"""A policy for tests: each job whose cores have no guest gets the first that waits, half and half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.core_sharing import agreed
from queue_policies.records import CpuQuota, Remember, Start

if TYPE_CHECKING:
    from queue_policies.records import Action, State


@dataclass(frozen=True)
class Paired:
    """First come, first served; then guests. It remembers how many guests have started."""

    name: ClassVar[str] = "paired"
    needs_sharing: ClassVar[bool] = True

    def decide(self, state: State, _now: float) -> list[Action]:
        """Start what fits, then guests."""
        trial, actions = state.cluster.sketch(), []
        waiting = []
        for job in state.queue:
            if trial.take(job.id, job.request):
                actions.append(Start(job.id))
            else:
                waiting.append(job)
        begun = 0
        for host in state.running.by_order():
            if host.host is not None or host.guests or host.stopping:
                continue
            guest = next(
                (job for job in waiting if agreed(host, job) and job.request.size <= host.size), None
            )
            if guest is not None:
                waiting.remove(guest)
                actions += [CpuQuota(host.id, 0.5), Start(guest.id, on=host.id, fraction=0.5)]
                begun += 1
        if begun:
            actions.append(Remember(("guests", (int(state.memory[1]) if state.memory else 0) + begun)))
        return actions
