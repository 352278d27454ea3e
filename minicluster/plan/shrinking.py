"""How a MiniCluster loses pods: their ranks get no more jobs, those that run are waited for, then they go.

The lead broker does the draining, by orders through its door; what it reports back decides which pods may go.
How long that has lasted is kept in the status (condition Resizing, reason Draining), so that an operator that
is started again goes on where the former one stopped. A change of the document begins the wait anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from broker_config import idset
from minicluster.plan import job as jobs
from minicluster.plan.constants import ConditionType, Reason
from minicluster.plan.records import Order
from minicluster.plan.situation import is_suspended

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.plan.records import BrokerReport, JobReport, Observed, Site
    from minicluster.spec import Condition, MiniCluster

SHRINKING = "minicluster: shrinking"
"""How the reason of every drain begins that is ours; who else drains a rank may well undrain it, not we."""
ORDER_AGAIN = 2.0
"""Seconds after which the lead is told again what it does not report to have done."""

_WAITED = frozenset({Reason.DRAINING, Reason.DRAIN_TIMED_OUT})


@dataclass(frozen=True, slots=True)
class Resize:
    """How many pods there are to be now, and what goes before there can be as many as the document says.

    While ranks are waited for, `since` says from when and `until` at the latest till when; `held` are those
    that have to stay, of which `busy` have jobs (None: nobody knows). `overdue`: they were waited for long
    enough, and go with whatever runs there. `returning` ranks were drained and are to stay after all.
    """

    pods: int
    orders: tuple[Order, ...] = ()
    again: float | None = None
    since: datetime | None = None
    until: datetime | None = None
    held: tuple[int, ...] = ()
    busy: tuple[int, ...] | None = ()
    overdue: bool = False
    returning: tuple[int, ...] = ()


def decide(cluster: MiniCluster, observed: Observed, site: Site, now: datetime) -> Resize:
    """Return which pods may go now, and what the lead is to be told."""
    wanted, job = jobs.pods(cluster), observed.job
    if not site.door or job is None or not _may_have_jobs(cluster, observed, job):
        return Resize(wanted)
    leaving = tuple(range(wanted, job.parallelism))
    returning = _returning(observed.brokers, wanted)
    going = {pod.index for pod in observed.pods if pod.leaving}
    # Not the broker of a pod that is on its way out: it would get jobs, and lose them.
    again = _order("undrain", (rank for rank in returning if rank not in going))
    if not leaving:
        return Resize(wanted, again, ORDER_AGAIN if returning else None, returning=returning)
    since = _begun(cluster)
    until = (since or _whole(now)) + timedelta(seconds=cluster.spec.drain_timeout_seconds)
    held, busy = _held(observed.brokers if since else None, leaving), _busy(observed.brokers, leaving)
    orders = (*again, *_drain(observed.brokers, leaving, wanted, begun=since is not None))
    if not held:
        return Resize(wanted, orders)
    if now >= until:
        overdue = busy is None or bool(busy)
        # What ends with its pod is told before: the pods go once that is stored.
        told = not overdue or _told(cluster, Reason.DRAIN_TIMED_OUT) is not None
        return Resize(
            pods=wanted if told else held[-1] + 1,
            orders=orders,
            again=None if told else 0.0,
            since=since or _whole(now),
            held=held,
            busy=busy,
            overdue=overdue,
        )
    return Resize(
        pods=held[-1] + 1,
        orders=orders,
        again=min((until - now).total_seconds(), ORDER_AGAIN if orders else float("inf")),
        since=since or _whole(now),
        until=until,
        held=held,
        busy=busy,
    )


def ranks(text: str) -> frozenset[int]:
    """Return the ranks of an idset that was checked."""
    return frozenset(idset.decode(text))


def _may_have_jobs(cluster: MiniCluster, observed: Observed, job: JobReport) -> bool:
    """Whether jobs may run: not without the lead, with whose pod they all end."""
    lead = next((pod for pod in observed.pods if pod.index == 0), None)
    return lead is not None and lead.phase == "Running" and not is_suspended(cluster, job)


def _begun(cluster: MiniCluster) -> datetime | None:
    """Return since when ranks are waited for; None where that is for a former version of the document."""
    told = _told(cluster, *_WAITED)
    return datetime.fromisoformat(told.last_transition_time or "") if told else None


def _told(cluster: MiniCluster, *reasons: Reason) -> Condition | None:
    """Return what the status says of resizing for one of these reasons, and of this very document."""
    for told in cluster.status.conditions:
        if told.type == ConditionType.RESIZING and told.reason in reasons:
            return told if told.observed_generation == cluster.metadata.generation else None
    return None


def _whole(now: datetime) -> datetime:
    """Return a time as it is when it was written into a status and read again."""
    return now.astimezone(UTC).replace(microsecond=0)


def _held(report: BrokerReport | None, leaving: tuple[int, ...]) -> tuple[int, ...]:
    """Return the ranks that must stay for now: that are not known to get no more jobs, and to have none."""
    if report is None:
        return leaving
    idle = ranks(report.drained) - ranks(report.busy)
    return tuple(rank for rank in leaving if rank not in idle)


def _busy(report: BrokerReport | None, leaving: tuple[int, ...]) -> tuple[int, ...] | None:
    if report is None:
        return None
    busy = ranks(report.busy)
    return tuple(rank for rank in leaving if rank in busy)


def _drain(
    report: BrokerReport | None, leaving: tuple[int, ...], size: int, *, begun: bool
) -> tuple[Order, ...]:
    """Return the order to drain what leaves: at the beginning all of it, whatever was reported before."""
    if report is None:
        return ()
    drained = ranks(report.drained) if begun else frozenset()
    return _order("drain", (rank for rank in leaving if rank not in drained), f"{SHRINKING} to {size}")


def _returning(report: BrokerReport | None, size: int) -> tuple[int, ...]:
    """Return the ranks that were drained for a shrink, and are to stay after all, or have come back."""
    shrunk = ranks(report.shrunk) if report else frozenset()
    return tuple(sorted(rank for rank in shrunk if rank < size))


def _order(action: Literal["drain", "undrain"], found: Iterable[int], reason: str = "") -> tuple[Order, ...]:
    text = idset.encode(found)
    return (Order(action, text, reason),) if text else ()
