"""The stand-ins of an instance as they are found, and the successors of those that were killed."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats.jobid import f58
from burst.errors import LeadAway, SpoolRefused
from burst.leads.instance_lead import instance_id
from burst.leads.stand_in_jobs import StandInJobs
from minicluster.instance.errors import JobNotFound, RequestRefused
from minicluster.instance.records import JobFilter, JobState
from minicluster.instance.stand_ins import stood_in_for
from minicluster.save_restore.losses import Loss, restart_lost
from minicluster.save_restore.restarts import copy_in, original
from minicluster.stand_in import topics
from minicluster.stand_in.spool import SpoolRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

_FOR_GOOD = {errno.ENOENT, errno.EINVAL, errno.EFBIG}
_SHUTDOWN = "instance is shutting down"
_WAITS = JobState.NEW | JobState.DEPEND


class FoundStandIn(NamedTuple):
    """A stand-in as it was found."""

    job: Job
    record: SpoolRecord
    is_canceled: bool
    is_needless: bool = False
    """Whether its original has not made room for it: it was canceled by its user, or has run."""

    @property
    def waits(self) -> bool:
        """Whether its original is not known to be gone."""
        return self.job.state in _WAITS and not self.record.is_successor

    @property
    def is_running(self) -> bool:
        """Whether its original will never run any more."""
        return not self.is_needless and bool(self.record.is_successor or self.job.t_run)

    @property
    def is_done(self) -> bool:
        """Whether it has delivered all, and ended with what it had noted."""
        ended = self.job.state is JobState.INACTIVE and self.record.outcome is not None
        return ended and self.job.returncode == self.record.outcome

    @property
    def is_killed(self) -> bool:
        """Whether it ended before it was done, and nobody wanted that."""
        return self.job.state is JobState.INACTIVE and not (self.is_done or self.is_canceled)


class StandingJobs:
    """Those of one instance, by the labels of their bursts. Methods block, and raise InstanceError."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def find(self, label: str) -> FoundStandIn | None:
        """Return the stand-in that is noted, or what it was started again as."""
        noted = self.spool(topics.STATUS, {"label": label})["record"]
        if noted is None:
            return None
        record = SpoolRecord(**noted)
        try:
            job = self._instance.jobs.get(record.job)
            while (again := self._again(label, job)) is not None:
                job = again
        except JobNotFound:
            return None  # the spool has outlived the instance's jobs
        if job.id != record.job:
            self._jobs(label, job.id).note(job.id, is_successor=True)
            record = record._replace(job=job.id, is_successor=True, outcome=None)
        is_needless = self._is_needless(job, record)
        return FoundStandIn(job, record, is_needless or self._is_canceled(job), is_needless)

    def _again(self, label: str, job: Job) -> Job | None:
        """Return the stand-in that has this one's place after a save, or after its node was left."""
        copy = copy_in(job.exception.note) if job.exception is not None else None
        if copy is None or stood_in_for(self._instance.jobs.jobspec(copy)) != label:
            return None
        return self._instance.jobs.get(copy)

    def unnoted(self, label: str, job: int) -> FoundStandIn | None:
        """Return an active stand-in that no spool has, as after a restore from an archive."""
        try:
            name = self._instance.jobs.get(job).name
        except JobNotFound:
            return None
        active = self._instance.jobs.find(JobFilter(name=name, states=JobState.ACTIVE), limit=0)
        theirs = [each for each in active if stood_in_for(self._instance.jobs.jobspec(each.id)) == label]
        if not theirs:
            return None
        last = max(theirs, key=lambda each: each.id)
        is_successor = original(self._instance.jobs.jobspec(last.id)) != job
        self._jobs(label, job).note(last.id, is_successor=is_successor)
        return self.find(label)

    def _is_canceled(self, job: Job) -> bool:
        ended = job.exception
        return (
            ended is not None
            and ended.severity == 0
            and ended.type != "exec"
            and not self._was_shut_down(job)
        )

    def _is_needless(self, job: Job, record: SpoolRecord) -> bool:
        """Return whether a stand-in's original has ended otherwise than to make room for it."""
        if record.is_successor or job.state in _WAITS:
            return False
        before = original(self._instance.jobs.jobspec(job.id))
        if before is None:
            return False
        try:
            failure = self._instance.jobs.get(before).exception
        except JobNotFound:
            return False  # it was purged since
        return failure is None or copy_in(failure.note) != job.id

    def _was_shut_down(self, job: Job) -> bool:
        """Return whether an instance that ended in order canceled a job; real Flux gives no reason then."""
        note = job.exception.note if job.exception is not None else ""
        return note == _SHUTDOWN or (not note and job.t_inactive < float(instance_id(self._instance)))

    def replaced(self, label: str, found: FoundStandIn) -> FoundStandIn:
        """Return a stand-in; one that was killed gets a successor, and so do jobs that failed with it."""
        if not found.is_killed:
            return found
        killed = found.job
        jobs = self._jobs(label, killed.id, killed)
        outcome = restart_lost(jobs, {0: Loss(0.0, killed.t_inactive - 1.0)})
        successor = dict(outcome.restarted).get(killed.id)
        if successor is None:
            why = dict(outcome.lost).get(killed.id, "it is not known")
            raise LeadAway(f"the stand-in {f58(killed.id)} has ended, and has no successor: {why}")
        jobs.note(successor, is_successor=True)
        record = found.record._replace(job=successor, is_successor=True, outcome=None)
        return FoundStandIn(self._instance.jobs.get(successor), record, is_canceled=False)

    def _jobs(self, label: str, job: int, killed: Job | None = None) -> StandInJobs:
        return StandInJobs(self._instance, label, job, killed)

    def spool(self, topic: str, request: dict[str, Any]) -> Mapping[str, Any]:
        """Return the answer about a spool. Raises SpoolRefused for good, else InstanceError."""
        try:
            return self._instance.links.rpc(topic, request)
        except RequestRefused as refusal:
            if refusal.errnum in _FOR_GOOD:
                raise SpoolRefused(refusal.text) from refusal
            raise
