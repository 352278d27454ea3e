"""Cores are taken back from the guest of a host that suffers: it goes on with the least that a guest gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.core_sharing import whole
from queue_policies.records import CpuQuota, Happened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queue_policies.records import RunningJob, State
    from queue_policies.sharing import CoreSharing


def taken_back(state: State, grid: Sequence[float]) -> Iterator[CpuQuota]:
    """Yield quotas that leave guests the least action, where their hosts degraded. A guest cannot be stopped.

    Nobody else comes onto such a host's cores later: `Usage.slowdown` shows it.
    """
    running = state.running
    for host in _degraded(state):
        guests = [running[each] for each in host.guests if each in running]
        least = _least(grid, host.size, state.sharing)
        if len(guests) == 1 and guests[0].quota > least and not guests[0].stopping:
            yield CpuQuota(guests[0].id, least)
            yield CpuQuota(host.id, 1 - least)


def _degraded(state: State) -> Iterator[RunningJob]:
    for change in state.changes:
        if change.what is Happened.DEGRADED and change.job is not None and change.job in state.running:
            host = state.running[change.job]
            if not host.stopping:
                yield host


def _least(grid: Sequence[float], size: int, sharing: CoreSharing | None) -> float:
    """Return the least action that can be enforced on so many cores; 1 where none can."""
    bound = sharing is not None and sharing.whole_cores
    return next((each for each in grid[1:] if not bound or whole(each * size)), 1.0)
