"""Jobs that ended because a follower's node was lost: the lead is told to start them again elsewhere.

Only where Kubernetes itself says that the pod is disrupted (condition DisruptionTarget): a job whose broker
was killed, such as for want of memory, would do the same again, and stays failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.plan import dumps
from minicluster.plan.constants import ConditionType, Reason
from minicluster.plan.records import Order
from minicluster.plan.shrinking import ranks

if TYPE_CHECKING:
    from minicluster.plan.records import Observed, Site
    from minicluster.plan.situation import Situation

_JOBS = "; of the jobs that ran there"


def orders(observed: Observed, site: Site) -> tuple[Order, ...]:
    """Return what the lead is to be told about jobs that were lost, unless it has answered that."""
    wanted = _order(observed) if site.door else None
    return () if wanted is None or _is_answered(wanted, observed) else (wanted,)


def outcome(situation: Situation) -> str:
    """Return what became of the jobs that were lost, to be put behind what is missing; empty where none were.

    That stays until all brokers are there, also with an operator that has just begun.
    """
    wanted, answer = _order(situation.observed), situation.observed.recovered
    if wanted is not None and answer is not None and _is_answered(wanted, situation.observed):
        found = dumps.outcomes(answer.restarted, answer.lost)
        return f"{_JOBS}: {found.removeprefix('; ')}" if found else ""
    told = situation.previous(ConditionType.BROKERS_READY, "False")
    if told is None or told.reason != Reason.JOBS_RESTARTED:
        return ""
    return "".join(told.message.partition(_JOBS)[1:])


def _order(observed: Observed) -> Order | None:
    """Return the order about all ranks that are lost."""
    if observed.brokers is None:
        return None
    online = ranks(observed.brokers.online)
    lost = tuple(each for each in sorted(observed.disrupted) if each.rank not in online)
    return Order("recover", lost=lost) if lost else None


def _is_answered(wanted: Order, observed: Observed) -> bool:
    return observed.recovered is not None and observed.recovered.order == wanted
