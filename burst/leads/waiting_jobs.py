"""The jobs that wait at a lead, with all that decides whether they burst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import jobspec
from broker_config.formats.burst_names import BURST, BURSTABLE, LOCAL
from broker_config.formats.errors import ParseError
from burst.leads.payer_keys import PayerKeys
from burst.planning.records import BurstableJob
from minicluster.instance.errors import JobNotFound
from minicluster.instance.records import JobFilter, JobState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from burst.leads.layout import LeadLayout
    from minicluster.instance.payers import PayerStatement
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

READS = 500
"""Jobspecs that are read at most in one look: the others are read in the next ones."""


class WaitingJob(NamedTuple):
    """A burstable job, and the queue in which it waits."""

    job: BurstableJob
    queue: str


class _Wanted(NamedTuple):
    """What a jobspec has that never changes."""

    request: jobspec.RequestedResources
    wish: Any
    own_constraints: bool
    payer: PayerStatement | None


class WaitingJobs:
    """The burstable jobs of one instance. Of each, the jobspec is read once.

    A job's user is the one that a RESTful API states, if that can be verified, and no older job that waits
    has the same statement; else the uid.
    """

    def __init__(
        self, instance: Instance, layout: LeadLayout, home: str, payers: PayerKeys | None = None
    ) -> None:
        self._payers = payers or PayerKeys()
        self._instance = instance
        self._layout = layout
        self._home = home
        self._known: dict[int, _Wanted | None] = {}
        """None: it is not burstable, or is no valid job."""

    def read(self) -> list[WaitingJob]:
        """Return the burstable jobs that wait. Blocks; raises InstanceError."""
        pending = self._instance.jobs.find(JobFilter(states=JobState.PENDING), limit=0)
        queues = {self._home, BURST}
        waiting = {job.id: job for job in pending if job.queue in queues}
        self._known = {job: wanted for job, wanted in self._known.items() if job in waiting}
        for job in [job for job in waiting if job not in self._known][:READS]:
            self._known[job] = self._wanted(job)
        return list(self._burstable(waiting))

    def _burstable(self, waiting: Mapping[int, Job]) -> Iterator[WaitingJob]:
        rows = set()
        for job in sorted(waiting.values(), key=lambda each: each.id):
            wanted = self._known.get(job.id)
            if wanted is None:
                continue
            payer = wanted.payer
            is_copy = payer is not None and payer.row in rows
            if payer is not None:
                rows.add(payer.row)
            user = str(job.userid) if payer is None or is_copy else payer.user
            yield WaitingJob(self._record(job, wanted, user), job.queue)

    def _record(self, job: Job, wanted: _Wanted, user: str) -> BurstableJob:
        return BurstableJob(
            id=job.id,
            user=user,
            request=wanted.request,
            wish=wanted.wish,
            limit=job.duration,
            priority=job.urgency if job.priority is None else job.priority,
            submitted=job.t_submit,
            depends=job.state is JobState.DEPEND,
            constrained=wanted.own_constraints,
            fits_here=job.queue != BURST and self._layout.fits_here(wanted.request),
        )

    def _wanted(self, job: int) -> _Wanted | None:
        try:
            spec = self._instance.jobs.jobspec(job)
            parsed = jobspec.parse(spec)
        except (JobNotFound, ParseError):
            return None
        system = jobspec.system_of(spec)
        if system.get(BURSTABLE) is None:
            return None
        own = system.get("constraints")
        has_own = bool(own) and not _is_of_queue(own)
        return _Wanted(parsed.resources, system[BURSTABLE], has_own, self._payers.verified(spec))


def _is_of_queue(found: Any) -> bool:
    """Return whether constraints are those that its queue adds to a job without any."""
    return found in ({"properties": [LOCAL]}, {"properties": [BURST]})
