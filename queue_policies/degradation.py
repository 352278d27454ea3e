"""How much slower a host is beside its guests than its quota explains: of a whole run, and while it runs.

A host that uses the fraction `cpu` of its cores needs no more of them. So a quota above that should cost it
nothing. It does where its ranks wait for the slowest of them, or where memory or caches are contended.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queue_policies.sharing import JobEnd

MUCH = 0.5
"""From so much on a running host is reported (`Happened.DEGRADED`). The loss of a learner is 1 then."""
MAX_SLOWDOWN = 4.0
"""More is all the same."""
_LEAST = 0.2  # of a run's time alone: who did less of its work beside guests shows nothing
_NEW = 0.5  # the weight of the latest run with guests among the earlier ones
_FORGOTTEN = 0.03  # by a run without guests: programs change, and are tried again at last


def slowed(cpu: float, quota: float) -> float:
    """Return the speed of a job that uses the fraction `cpu` of its cores, where it may use only `quota`."""
    return min(1.0, quota / cpu) if cpu > 0 else 1.0


def of_run(end: JobEnd, alone: float, cpu: float) -> float | None:
    """Return how much slower a host was than its quotas explain, from 0 on. None: the run does not show it.

    `alone` are the seconds that its program takes alone, and `cpu` the fraction of its cores that it uses
    then. Who began under a quota was a guest first, and shows nothing.
    """
    if not end.quotas or end.quotas[0][0] <= end.started or end.host is not None:
        return None
    spans = [
        (until - since, fraction)
        for (since, fraction), (until, _) in pairwise((*end.quotas, (end.ended, 1.0)))
        if fraction < 1
    ]
    explained = sum(seconds * slowed(cpu, fraction) for seconds, fraction in spans)
    done = alone - (end.ended - end.started - sum(seconds for seconds, _ in spans))
    if explained < _LEAST * alone or done <= 0:
        return None
    return _within(explained / done - 1)


def while_running(alone: float, quota: float, used: float) -> float:
    """Return how much slower a host is now: it used the fraction `alone` of its cores, and uses `used`."""
    return MAX_SLOWDOWN if used <= 0 else _within(min(alone, quota) / used - 1)


def after_run(before: float, found: float | None) -> float:
    """Return what is known of a program after one more run, which showed so much, or nothing. 0: unknown."""
    if found is None:
        return before * (1 - _FORGOTTEN)
    return before + _NEW * (found - before) if before else found


def _within(slowdown: float) -> float:
    return min(MAX_SLOWDOWN, max(0.0, slowdown))
