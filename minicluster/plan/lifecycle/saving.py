"""Saves an instance before its pods go: the lead gets a command, and the pods wait for the result.

The lead broker saves while all other brokers are still there, and then ends. Its pod's termination message
has the result. A save that fails loses nothing: the instance goes on, and the save is tried again. Its
progress is kept in `status.save`: an operator that is started again goes on from there.

A suspension waits as long as the lead answers, and for a limited time where it does not. A deletion waits for
a limited time in any case: a MiniCluster can always be deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from minicluster.document import SaveStatus
from minicluster.plan.objects import job as jobs
from minicluster.plan.records import LeadCommand, Saving
from minicluster.plan.status import dumps, saves
from minicluster.plan.status.times import timestamp, whole

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.records import Observed, PodReport, SaveProgress, Site

ORDER_INTERVAL = 2.0
"""Seconds after which a command is sent again if the lead does not report its begin."""
MIN_RETRY_INTERVAL = timedelta(seconds=60)
MAX_RETRY_INTERVAL = timedelta(seconds=600)
"""A failed save is tried again after as long as the attempt took, within these bounds."""
MAX_ERROR = 4_096
"""Characters of an error that the status keeps."""

UNDER_WAY = frozenset({"Ordered", "Waiting", "Writing", "Leaving", "Unreachable", "Failed"})
"""The phases of a save that has not ended."""
NOTHING = Saving()


def is_wanted(cluster: MiniCluster, site: Site) -> bool:
    """Return whether the instance is ever to be saved before its pods go."""
    return bool(site.lead_api and cluster.spec.archive.path and not cluster.spec.managed_by)


def decide(cluster: MiniCluster, observed: Observed, site: Site, now: datetime) -> Saving:
    """Return the save that must come before a suspension or a deletion."""
    if not (is_wanted(cluster, site) and _is_requested(cluster, observed)) or jobs.has_ended(observed.job):
        return NOTHING
    lead = next((pod for pod in observed.pods if pod.index == 0), None)
    if lead is None or not _may_save(cluster, observed, lead):
        return _ended(cluster, observed, lead, now)
    return _go_on(_Attempt(cluster, observed, lead, now))


def _is_requested(cluster: MiniCluster, observed: Observed) -> bool:
    """Return whether the pods are to go. (Kueue suspends Jobs itself: then the lead saves on SIGTERM.)"""
    if observed.job is None or cluster.metadata.deletion_timestamp:
        return observed.job is not None
    return cluster.spec.suspend and not observed.job.suspended and not jobs.suspended_by_kueue(cluster)


def _may_save(cluster: MiniCluster, observed: Observed, lead: PodReport) -> bool:
    """Return whether the lead runs, or may run, and has not saved before a restart of its container."""
    if lead.phase not in {"Running", "Unknown"}:
        return False
    if cluster.spec.pod.restart_policy == "Never":
        return lead.exit_code is None
    stored = cluster.status.save
    is_saved = stored is not None and stored.phase == "Saved"
    return not (dumps.is_new(observed.dump, cluster.status) or is_saved)


def _ended(cluster: MiniCluster, observed: Observed, lead: PodReport | None, now: datetime) -> Saving:
    """Return the result of a lead that has ended; NOTHING where no save was under way."""
    stored = cluster.status.save
    dump = observed.dump if dumps.is_new(observed.dump, cluster.status) else lead.dump if lead else None
    if dump is not None:
        begun = stored.model_dump(include={"started_at", "attempt"}) if stored else {}
        return Saving(status=_record(phase="Saved", **{"started_at": timestamp(now), **begun}), dump=dump)
    if stored is None:
        return NOTHING
    if stored.phase not in UNDER_WAY:
        return Saving(status=stored)
    code = "" if lead is None or lead.exit_code is None else f" with exit code {lead.exit_code}"
    why = "the lead's pod is gone" if lead is None else f"the lead's pod has ended{code}"
    return Saving(
        status=_record(phase="Lost", started_at=stored.started_at, attempt=stored.attempt, error=why)
    )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt to save an instance whose lead runs, by the status and the lead's report."""

    cluster: MiniCluster
    observed: Observed
    lead: PodReport
    now: datetime

    @property
    def is_deleted(self) -> bool:
        """Whether it is saved before it is deleted, not suspended."""
        return self.cluster.metadata.deletion_timestamp is not None

    @property
    def stored(self) -> SaveStatus | None:
        """The save under way as the status has it."""
        stored = self.cluster.status.save
        return stored if stored is not None and stored.phase in UNDER_WAY else None

    @property
    def is_new(self) -> bool:
        """Whether this is another attempt than the stored one, which has failed."""
        fails = self.progress is not None and self.progress.phase == "failed"
        return self.stored is not None and self.stored.phase == "Failed" and not fails

    @property
    def number(self) -> int:
        """Which attempt this is, from 1 on."""
        before = self.stored.attempt if self.stored else 0
        return before + 1 if self.stored is None or self.is_new else before

    @property
    def started(self) -> datetime:
        """When this attempt began; before a deletion the attempts count as one, from the deletion on."""
        deleted = self.cluster.metadata.deletion_timestamp
        if self.stored is None or (self.is_new and not deleted):
            return whole(self.now)
        started = datetime.fromisoformat(self.stored.started_at)
        return max(started, datetime.fromisoformat(deleted)) if deleted else started

    @property
    def until(self) -> datetime:
        """The end of the wait for a lead that does not answer, and of any wait before a deletion.

        A restart of the operator starts the time anew.
        """
        since = self.observed.since
        started = max(self.started, whole(since)) if since else self.started
        return started + timedelta(seconds=saves.seconds(self.cluster))

    @property
    def progress(self) -> SaveProgress | None:
        """What the lead reports of it."""
        return self.observed.brokers.saving if self.answers and self.observed.brokers else None

    @property
    def answers(self) -> bool:
        """Whether the lead answers."""
        return self.observed.brokers is not None and not self.lead.leaving

    @property
    def may_answer(self) -> bool:
        """Whether the lead answers, or it is too early to know that it does not."""
        return self.answers or not (self.observed.unreachable_reason or self.lead.leaving)

    def status(self, phase: str, **more: Any) -> SaveStatus:
        """Return the status' record of this attempt."""
        return _record(phase=phase, started_at=timestamp(self.started), attempt=self.number, **more)

    def next_poll(self, limit: float | None = None) -> float | None:
        """Return in how many seconds to plan again: at most `limit`, and when the wait ends."""
        left = (self.until - self.now).total_seconds()
        if left <= 0 or (not self.is_deleted and self.progress is not None):
            return limit
        return left if limit is None else min(limit, left)


def _go_on(attempt: _Attempt) -> Saving:
    """Return the next step of a save whose lead runs."""
    stored = attempt.cluster.status.save
    if stored is not None and stored.phase in {"Lost", "Abandoned"}:  # once that is stored, the pods go
        return Saving(status=stored)
    if attempt.now >= attempt.until and (attempt.is_deleted or not attempt.may_answer):
        return _abandoned(attempt)
    if not attempt.answers and attempt.may_answer:
        return _as_stored(attempt)
    if attempt.progress is not None and attempt.progress.phase == "failed":
        return _failed(attempt, attempt.progress)
    if attempt.progress is not None or not attempt.answers:
        return Saving(pending=True, status=_under_way(attempt), again=attempt.next_poll())
    return _ordered(attempt, attempt.status("Ordered"))


def _abandoned(attempt: _Attempt) -> Saving:
    """Return the end of a save without a result: once that is stored, the pods go all the same."""
    why = attempt.progress.error if attempt.progress else attempt.observed.unreachable_reason
    return Saving(pending=True, status=attempt.status("Abandoned", error=why), again=0.0)


def _as_stored(attempt: _Attempt) -> Saving:
    """Return the save as it is stored: an operator that has just begun has no report yet."""
    reason = "nothing is heard of the lead for the moment"
    status = attempt.stored or attempt.status("Unreachable", error=reason)
    return Saving(pending=True, status=status, again=attempt.next_poll())


def _failed(attempt: _Attempt, progress: SaveProgress) -> Saving:
    """Return the failed save, and once it is due the command to try again."""
    since = whole(progress.since or attempt.now)
    due = since + min(max(since - attempt.started, MIN_RETRY_INTERVAL), MAX_RETRY_INTERVAL)
    status = attempt.status("Failed", error=progress.error, retry_at=timestamp(due))
    if attempt.now < due:
        return Saving(True, status, again=attempt.next_poll((due - attempt.now).total_seconds()))
    return _ordered(attempt, status)


def _ordered(attempt: _Attempt, status: SaveStatus) -> Saving:
    """Return the save with its command. Before a deletion jobs have what is left of their time."""
    limit = attempt.cluster.spec.drain_timeout_seconds
    left = int((attempt.started - attempt.now).total_seconds()) + limit if attempt.is_deleted else limit
    generation = attempt.cluster.metadata.generation
    order = LeadCommand("save", seconds=max(min(left, limit), 0), generation=generation)
    return Saving(True, status, None, (order,), attempt.next_poll(ORDER_INTERVAL))


def _under_way(attempt: _Attempt) -> SaveStatus:
    progress = attempt.progress
    if attempt.lead.leaving:
        return attempt.status("Leaving")
    if progress is None:
        return attempt.status("Unreachable", error=attempt.observed.unreachable_reason)
    if progress.phase == "writing":
        return attempt.status("Writing")
    return attempt.status("Waiting", waiting_for=progress.waiting_for)


def _record(*, error: str = "", **fields: Any) -> SaveStatus:
    return SaveStatus(error=error[:MAX_ERROR], **fields)
