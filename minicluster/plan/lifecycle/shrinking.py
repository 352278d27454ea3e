"""Shrinks a MiniCluster: drains ranks, waits for the jobs that run there, then removes their pods.

Jobs that do not end in time are started again elsewhere with new ids. The status has the ids before the pods
go.

The lead broker gets commands to drain; its report decides which pods may go. The progress is kept in
`status.resize`, so that an operator that is started again goes on from there. A change of the document begins
the wait anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from broker_config.formats.drain_reasons import SHRINKING
from minicluster.plan import ranks
from minicluster.plan.objects import job as jobs
from minicluster.plan.records import LeadCommand, Resize
from minicluster.plan.status.times import whole

if TYPE_CHECKING:
    from minicluster.document import MiniCluster, ResizeStatus
    from minicluster.plan.records import BrokerReport, JobReport, Observed, RestartReport, Site

ORDER_INTERVAL = 2.0
"""Seconds after which a command is sent again if the lead does not report it as done."""
RESTART_SECONDS = 30
"""Seconds that the lead has for starting jobs again elsewhere, once their time is over."""

_WAITED = frozenset({"Draining", "Restarting", "TimedOut", "JobsRestarted"})


def stay(cluster: MiniCluster, observed: Observed, _site: Site, _now: datetime) -> Resize:
    """Return the number of pods as it is, as long as the instance is being saved."""
    return Resize(observed.job.parallelism if observed.job else jobs.pods(cluster))


def decide(cluster: MiniCluster, observed: Observed, site: Site, now: datetime) -> Resize:
    """Return which pods may go now, and which commands the lead gets."""
    wanted, job = jobs.pods(cluster), observed.job
    if not site.lead_api or job is None or not _may_have_jobs(cluster, observed, job):
        return Resize(wanted)
    leaving = ranks.span(wanted, job.parallelism)
    returning = _returning(observed.brokers, wanted)
    going = ranks.of(pod.index for pod in observed.pods if pod.leaving)
    # Not the broker of a pod that is being deleted: it would get jobs, and lose them.
    again = _order("undrain", returning & ~going)
    if not leaving:
        back = ranks.encode(returning)
        return Resize(wanted, again, ORDER_INTERVAL if returning else None, returning=back)
    since = _started(cluster)
    return _Shrink(
        cluster=cluster,
        observed=observed,
        now=now,
        wanted=wanted,
        leaving=leaving,
        since=since or whole(now),
        draining=_draining(observed.brokers if since else None, leaving),
        busy=_busy(observed.brokers, leaving),
        orders=(*again, *_drain(observed.brokers, leaving, wanted, begun=since is not None)),
    ).decide()


@dataclass(frozen=True, slots=True)
class _Shrink:
    """A shrink under way: the ranks that leave, as bits, and since when their jobs are waited for."""

    cluster: MiniCluster
    observed: Observed
    now: datetime
    wanted: int
    """How many pods there are to be in the end."""
    leaving: int
    since: datetime
    draining: int
    busy: int | None
    orders: tuple[LeadCommand, ...]

    def decide(self) -> Resize:
        """Return which of them may go now."""
        if _stored(self.cluster, "JobsRestarted"):
            return Resize(self.wanted, self.orders, since=self.since, released=True)
        answer = _answer(self.cluster, self.observed)
        if answer is not None:
            return self._wait(0.0, draining=self.leaving, restarted=answer)
        if not self.draining:
            return self._restart() if self._lacks_answer() else Resize(self.wanted, self.orders)
        if self.now < self._until:
            left = (self._until - self.now).total_seconds()
            return self._wait(min(left, ORDER_INTERVAL) if self.orders else left, until=self._until)
        return self._restart() if self._may_restart() else self._let_go()

    @property
    def _until(self) -> datetime:
        return self.since + timedelta(seconds=self.cluster.spec.drain_timeout_seconds)

    def _wait(self, again: float, *, draining: int = 0, **more: Any) -> Resize:
        """Return that the pods stay for now up to the last rank that is waited for."""
        draining = draining or self.draining
        known = {"draining": ranks.encode(draining), "busy": self._busy, "since": self.since}
        return Resize(draining.bit_length(), again=again, **{**known, "orders": self.orders, **more})

    @property
    def _busy(self) -> str | None:
        return None if self.busy is None else ranks.encode(self.busy)

    def _may_restart(self) -> bool:
        """Whether the lead may still start the jobs again whose time is over.

        Not once that took too long, and not where it is known that the lead does not answer.
        """
        if self.now >= self._latest or _stored(self.cluster, "TimedOut"):
            return False
        return bool(self.busy) or (self.observed.brokers is None and not self.observed.unreachable_reason)

    def _lacks_answer(self) -> bool:
        """Whether jobs may have been started again without this operator's knowledge of their ids.

        The answer was lost, or it came to an operator that is gone. The lead gives it again.
        """
        if self.observed.brokers is None or _received(self.cluster, self.observed):
            return False
        return self.now < self._latest and _stored(self.cluster, "Restarting") is not None

    @property
    def _latest(self) -> datetime:
        return self._until + timedelta(seconds=RESTART_SECONDS)

    def _restart(self) -> Resize:
        order = LeadCommand(
            "restart", ranks.encode(self.leaving), generation=self.cluster.metadata.generation
        )
        more = (order,) if self.observed.brokers else ()
        again = min((self._latest - self.now).total_seconds(), ORDER_INTERVAL)
        draining = self.draining or self.leaving
        return self._wait(
            again, draining=draining, until=self._until, orders=(*self.orders, *more), restarting=True
        )

    def _let_go(self) -> Resize:
        """Return that the pods go with the jobs that still run there, once that is stored."""
        overdue = self.busy is None or bool(self.busy)
        if overdue and not _stored(self.cluster, "TimedOut"):
            return self._wait(0.0, overdue=True)
        return Resize(
            self.wanted,
            self.orders,
            since=self.since,
            draining=ranks.encode(self.draining),
            busy=self._busy,
            overdue=overdue,
        )


def _may_have_jobs(cluster: MiniCluster, observed: Observed, job: JobReport) -> bool:
    """Whether jobs may run: not without the lead's pod, with which all jobs end."""
    lead = next((pod for pod in observed.pods if pod.index == 0), None)
    return lead is not None and lead.phase == "Running" and not jobs.is_suspended(cluster, job)


def _answer(cluster: MiniCluster, observed: Observed) -> RestartReport | None:
    """Return which jobs were started again for this shrink; None: none were, as far as that is known."""
    found = observed.restarted if _received(cluster, observed) else None
    return found if found and (found.restarted or found.lost) else None


def _received(cluster: MiniCluster, observed: Observed) -> bool:
    """Whether the lead's answer for this shrink is known."""
    found = observed.restarted
    return found is not None and found.order.generation == cluster.metadata.generation


def _started(cluster: MiniCluster) -> datetime | None:
    """Return when the wait began; None where that was for a former version of the document."""
    stored = _stored(cluster, *_WAITED)
    return datetime.fromisoformat(stored.started_at) if stored else None


def _stored(cluster: MiniCluster, *phases: str) -> ResizeStatus | None:
    """Return the stored resize if it is in one of these phases, and for this generation of the document."""
    stored = cluster.status.resize
    if stored is None or stored.phase not in phases:
        return None
    return stored if stored.generation == cluster.metadata.generation else None


def _draining(report: BrokerReport | None, leaving: int) -> int:
    """Return the ranks that must stay for now: that are not known to get no more jobs, and to have none."""
    if report is None:
        return leaving
    return leaving & ~(ranks.bits(report.drained) & ~ranks.bits(report.busy))


def _busy(report: BrokerReport | None, leaving: int) -> int | None:
    return None if report is None else leaving & ranks.bits(report.busy)


def _drain(report: BrokerReport | None, leaving: int, size: int, *, begun: bool) -> tuple[LeadCommand, ...]:
    """Return the command to drain leaving ranks: at first all of them, later those not drained yet."""
    if report is None:
        return ()
    drained = ranks.bits(report.drained) if begun else 0
    return _order("drain", leaving & ~drained, f"{SHRINKING} to {size}")


def _returning(report: BrokerReport | None, size: int) -> int:
    """Return the ranks that a shrink drained, and that are to stay after all, or have come back."""
    return ranks.bits(report.shrunk) & ranks.span(0, size) if report else 0


def _order(action: Literal["drain", "undrain"], found: int, reason: str = "") -> tuple[LeadCommand, ...]:
    return (LeadCommand(action, ranks.encode(found), reason),) if found else ()
