"""Jobs that ended because a follower's node was lost: the lead gets a command to start them again elsewhere.

Only where Kubernetes reports that the pod is disrupted (condition DisruptionTarget). A job whose broker was
killed, such as for want of memory, would fail again, and stays failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.document import NodeLoss
from minicluster.plan import ranks
from minicluster.plan.records import LeadCommand
from minicluster.plan.status import broker_readiness, restarted_jobs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.document import RestartedJob
    from minicluster.plan.records import Observed, Site
    from minicluster.plan.status.reconcile_state import ReconcileState


def orders(observed: Observed, site: Site) -> tuple[LeadCommand, ...]:
    """Return the command to start lost jobs again, unless the lead has answered it."""
    wanted = _order(observed) if site.lead_api else None
    return () if wanted is None or _is_answered(wanted, observed) else (wanted,)


def status(state: ReconcileState) -> tuple[NodeLoss | None, tuple[RestartedJob, ...]]:
    """Return the record of a loss and its jobs, until all brokers have joined again."""
    stored = state.cluster.status
    known = stored.node_loss, restarted_jobs.of_cause(stored.restarted_jobs, "NodeLoss")
    if not broker_readiness.are_missing(state):
        return None, ()
    wanted, answer = _order(state.observed), state.observed.recovered
    if wanted is None or answer is None or not _is_answered(wanted, state.observed):
        return known
    if not answer.restarted and not answer.lost:
        return None, ()
    jobs = restarted_jobs.records("NodeLoss", answer.restarted, answer.lost)
    return NodeLoss(restarted=len(answer.restarted), lost=len(answer.lost)), jobs


def sentence(loss: NodeLoss | None, jobs: Iterable[RestartedJob]) -> str:
    """Return what became of the jobs, as the end of a message; empty where no jobs were lost."""
    if loss is None:
        return ""
    named = restarted_jobs.sentence(restarted_jobs.of_cause(jobs, "NodeLoss"), loss.restarted, loss.lost)
    return f"; of the jobs that ran there: {named.removeprefix('; ')}"


def _order(observed: Observed) -> LeadCommand | None:
    """Return the command for all ranks that are lost; None where there are none."""
    if observed.brokers is None:
        return None
    online = ranks.bits(observed.brokers.online)
    lost = tuple(each for each in sorted(observed.disrupted) if not online >> each.rank & 1)
    return LeadCommand("recover", lost=lost) if lost else None


def _is_answered(wanted: LeadCommand, observed: Observed) -> bool:
    return observed.recovered is not None and observed.recovered.order == wanted
