"""How an instance is saved before its pods go: the lead is told, followed, and waited for.

The lead broker saves by an order through its door, while all others are still there, and then ends; what it
leaves as its pod's last words says how that went. A save that fails loses nothing: the instance goes on, and
it is tried again. Since when that lasts is kept in the status (condition Suspended, reasons Saving and
SaveFailed), so that an operator that is started again goes on where the former one stopped.

A suspension waits as long as the lead is heard, and for a limited time where it is not. So does a deletion,
whatever the lead says: a MiniCluster can always be deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from minicluster.plan import dumps
from minicluster.plan import job as jobs
from minicluster.plan.constants import SAVE_SECONDS, ConditionType, Reason
from minicluster.plan.finding import Finding
from minicluster.plan.records import Order
from minicluster.plan.times import timestamp, whole

if TYPE_CHECKING:
    from minicluster.plan.records import Observed, PodReport, SaveProgress, Site
    from minicluster.spec import Condition, MiniCluster

ORDER_AGAIN = 2.0
"""Seconds after which the lead is told again what it does not report to have begun."""
FIRST_PAUSE = timedelta(seconds=60)
LAST_PAUSE = timedelta(seconds=600)
"""After a save that failed it is tried again after as long as it was tried for, within these bounds."""

_BEGUN = frozenset({Reason.SAVING, Reason.SAVE_FAILED})
_TOLD = _BEGUN | {Reason.SAVED, Reason.NOT_SAVED}
_ENDS = frozenset({"Complete", "SuccessCriteriaMet", "Failed", "FailureTarget"})


@dataclass(frozen=True, slots=True)
class Saving:
    """How far it is. `pending`: the pods must stay for now; `finding`: what condition Suspended says of it.

    `orders` are for the lead; `again`: in so many seconds it is another one.
    """

    pending: bool = False
    finding: Finding | None = None
    orders: tuple[Order, ...] = ()
    again: float | None = None


NOTHING = Saving()


def is_wanted(cluster: MiniCluster, site: Site) -> bool:
    """Whether the instance is to be saved at all before its pods go."""
    return bool(site.door and cluster.spec.archive.path and not cluster.spec.managed_by)


def decide(cluster: MiniCluster, observed: Observed, site: Site, now: datetime) -> Saving:
    """Return what is to be done before a MiniCluster is suspended, or deleted."""
    if not (is_wanted(cluster, site) and _is_asked_for(cluster, observed)) or _has_ended(observed):
        return NOTHING
    lead = next((pod for pod in observed.pods if pod.index == 0), None)
    if lead is None or not _may_save(cluster, observed, lead):
        return _over(cluster, observed, lead)
    return _Save(cluster, observed, lead, now).go_on()


def _is_asked_for(cluster: MiniCluster, observed: Observed) -> bool:
    """Whether the pods are to go. (Kueue suspends Jobs itself: then the lead saves on SIGTERM.)"""
    if observed.job is None or cluster.metadata.deletion_timestamp:
        return observed.job is not None
    return cluster.spec.suspend and not observed.job.suspended and not jobs.held_by_kueue(cluster)


def _has_ended(observed: Observed) -> bool:
    conditions = observed.job.conditions if observed.job else ()
    return any(each.type in _ENDS and each.status == "True" for each in conditions)


def _may_save(cluster: MiniCluster, observed: Observed, lead: PodReport) -> bool:
    """Whether the lead is there: it runs, or nobody knows. One that restarts in place may have saved."""
    if lead.phase not in {"Running", "Unknown"}:
        return False
    if cluster.spec.pod.restart_policy == "Never":
        return lead.exit_code is None
    return not (dumps.is_new(observed.dump, cluster.status) or _told(cluster, Reason.SAVED))


def _over(cluster: MiniCluster, observed: Observed, lead: PodReport | None) -> Saving:
    """Say how it went, where the lead has ended; nothing where nobody had asked it to save."""
    left = observed.dump if dumps.is_new(observed.dump, cluster.status) else lead.dump if lead else None
    if left is not None:
        return Saving(finding=Finding("False", Reason.SAVED, dumps.sentence(left)))
    told = _told(cluster, *_TOLD)
    if told is None:
        return NOTHING
    if told.reason not in _BEGUN:
        return Saving(finding=Finding("False", told.reason, told.message))
    code = "" if lead is None or lead.exit_code is None else f" with exit code {lead.exit_code}"
    why = "the lead's pod is gone" if lead is None else f"the lead's pod has ended{code}"
    message = f"nothing was saved to {cluster.spec.archive.path}: {why}"
    return Saving(finding=Finding("False", Reason.NOT_SAVED, message))


@dataclass(frozen=True, slots=True)
class _Save:
    """A save of an instance whose lead is there."""

    cluster: MiniCluster
    observed: Observed
    lead: PodReport
    now: datetime

    def go_on(self) -> Saving:
        """Return what is to be done now."""
        told = _told(self.cluster, Reason.NOT_SAVED)
        if told is not None:  # it was given up, and the pods go
            return Saving(finding=Finding("False", told.reason, told.message))
        if self.now >= self.until and (self.is_deleted or not self._may_come):
            return self._give_up()
        if not self._hears and self._may_come:
            return self._as_told()
        if self.progress is not None and self.progress.phase == "failed":
            return self._failed(self.progress)
        if self.progress is not None or not self._hears:
            return Saving(
                pending=True, finding=self._finding(Reason.SAVING, self._stage()), again=self._left()
            )
        finding = self._finding(Reason.SAVING, "the lead broker is told")
        return Saving(True, finding, (self._order(),), self._left(ORDER_AGAIN))

    @property
    def is_deleted(self) -> bool:
        """Whether it is saved before it is deleted, not suspended."""
        return self.cluster.metadata.deletion_timestamp is not None

    @property
    def began(self) -> datetime:
        """Since when it is tried; where it has failed, and is not to be deleted, each time begins anew."""
        told = _told(self.cluster, *_BEGUN)
        deleted = self.cluster.metadata.deletion_timestamp
        fails = self.progress is not None and self.progress.phase == "failed"
        if told is None or (told.reason == Reason.SAVE_FAILED and not fails and not deleted):
            return whole(self.now)
        since = datetime.fromisoformat(told.last_transition_time or "")
        return max(since, datetime.fromisoformat(deleted)) if deleted else since

    @property
    def until(self) -> datetime:
        """Until when it is waited for what is not heard, or where it is deleted for anything.

        While no operator looked nobody was waited for.
        """
        began = max(self.began, whole(self.observed.since)) if self.observed.since else self.began
        return began + timedelta(seconds=self.seconds)

    @property
    def seconds(self) -> int:
        """How long that is."""
        return self.cluster.spec.drain_timeout_seconds + SAVE_SECONDS

    @property
    def progress(self) -> SaveProgress | None:
        """What the lead says of it."""
        return self.observed.brokers.saving if self._hears and self.observed.brokers else None

    @property
    def _may_come(self) -> bool:
        """Whether there is hope without a limit: the lead is heard, or is only just being listened to."""
        return self._hears or not (self.observed.silence or self.lead.leaving)

    @property
    def _hears(self) -> bool:
        return self.observed.brokers is not None and not self.lead.leaving

    def _as_told(self) -> Saving:
        """Say what was said before: an operator that has only just begun to listen knows no more."""
        told = _told(self.cluster, *_BEGUN)
        if told is None:
            finding = self._finding(Reason.SAVING, "nothing is heard of the lead for the moment")
        else:
            since = datetime.fromisoformat(told.last_transition_time or "")
            finding = Finding("False", told.reason, told.message, since)
        return Saving(pending=True, finding=finding, again=self._left())

    def _failed(self, progress: SaveProgress) -> Saving:
        since = whole(progress.since or self.now)
        due = since + min(max(since - self.began, FIRST_PAUSE), LAST_PAUSE)
        why = progress.error or "the lead does not say why"
        finding = self._finding(Reason.SAVE_FAILED, f"{why}; it is tried again at {timestamp(due)}")
        if self.now < due:
            return Saving(True, finding, again=self._left((due - self.now).total_seconds()))
        return Saving(True, finding, (self._order(),), self._left(ORDER_AGAIN))

    def _give_up(self) -> Saving:
        """Say that the pods go all the same; they do once that is stored."""
        what = "the MiniCluster is deleted" if self.is_deleted else "its pods are told to go"
        why = self.progress.error if self.progress else self.observed.silence
        message = (
            f"nothing is known to be saved to {self.cluster.spec.archive.path} after {self.seconds} s"
            f"{f' ({why})' if why else ''}; {what} all the same,"
            " and what the lead does not save by itself is lost"
        )
        finding = Finding("False", Reason.NOT_SAVED, message, self.began)
        return Saving(pending=True, finding=finding, again=0.0)

    def _order(self) -> Order:
        """Return the order to save: after a deletion jobs have what is left of their time."""
        seconds = self.cluster.spec.drain_timeout_seconds
        left = int((self.began - self.now).total_seconds()) + seconds if self.is_deleted else seconds
        return Order("save", seconds=max(min(left, seconds), 0), generation=self.cluster.metadata.generation)

    def _finding(self, reason: Reason, what: str) -> Finding:
        path = self.cluster.spec.archive.path
        before = "it is deleted" if self.is_deleted else "its pods go"
        verb = "saving to" if reason is Reason.SAVING else "nothing was saved to"
        goal = f" before {before}" if reason is Reason.SAVING else ""
        latest = f"; it goes after {self.seconds} s at the latest" if self.is_deleted else ""
        return Finding("False", reason, f"{verb} {path}{goal}: {what}{latest}", self.began)

    def _stage(self) -> str:
        progress = self.progress
        if self.lead.leaving:
            return "the lead's pod was told to go, and saves before it does"
        if progress is None:
            return self.observed.silence
        if progress.phase == "writing":
            return "the dump is being written"
        count = progress.waiting_for
        return f"waiting for {count} {'job' if count == 1 else 'jobs'}"

    def _left(self, most: float | None = None) -> float | None:
        """Return when to look again: at the latest when it is waited for no longer, if that is to come."""
        left = (self.until - self.now).total_seconds()
        if left <= 0 or (not self.is_deleted and self.progress is not None):
            return most
        return left if most is None else min(most, left)


def _told(cluster: MiniCluster, *reasons: Reason) -> Condition | None:
    """Return what the status says of a save, where it does for one of these reasons."""
    for told in cluster.status.conditions:
        if told.type == ConditionType.SUSPENDED:
            return told if told.reason in reasons else None
    return None
